-- A list holds what was applied, once.
SELECT msg_id FROM items GROUP BY msg_id HAVING count(*) > 1
UNION ALL SELECT i.msg_id FROM items i WHERE NOT EXISTS (SELECT 1 FROM effects e WHERE e.msg_id = i.msg_id)
UNION ALL SELECT e.msg_id FROM effects e WHERE e.topic = 'strict' AND NOT EXISTS (SELECT 1 FROM items i WHERE i.msg_id = e.msg_id)
