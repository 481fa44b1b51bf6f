-- No message has two effects.
SELECT msg_id FROM effects GROUP BY msg_id HAVING count(*) > 1
