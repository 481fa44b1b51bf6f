-- An effect has its two events, and no event is without an effect.
SELECT e.msg_id FROM effects e WHERE (SELECT count(*) FROM emitted m WHERE m.cause = e.msg_id) <> (SELECT value FROM run WHERE name = 'events')
UNION ALL
SELECT m.cause FROM emitted m WHERE NOT EXISTS (SELECT 1 FROM effects e WHERE e.msg_id = m.cause)
