-- Every message that was sent is applied or dead.
SELECT s.id FROM sent s WHERE s.outcome = 'ok'
AND NOT EXISTS (SELECT 1 FROM effects e WHERE e.msg_id = s.id)
AND NOT EXISTS (SELECT 1 FROM letters l WHERE l.key = s.id AND l.state = 'open')
