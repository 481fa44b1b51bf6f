-- An effect has a record that it is done, and such a record has an effect; but for what was pruned.
SELECT e.msg_id FROM effects e WHERE NOT EXISTS (SELECT 1 FROM inbox i WHERE i.key = e.msg_id AND i.state = 'done')
AND NOT EXISTS (SELECT 1 FROM aged a WHERE a.id = e.msg_id)
UNION ALL
SELECT i.key FROM inbox i WHERE i.state = 'done' AND i.stale = 0 AND NOT EXISTS (SELECT 1 FROM effects e WHERE e.msg_id = i.key)
