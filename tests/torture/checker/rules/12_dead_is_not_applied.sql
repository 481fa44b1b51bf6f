-- A message with an open letter has no effect, and is dead.
SELECT l.key FROM letters l JOIN effects e ON e.msg_id = l.key WHERE l.state = 'open'
UNION ALL SELECT l.key FROM letters l WHERE l.state = 'open' AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.key = l.key AND i.state = 'dead')
