-- What can be applied is, after the last redrive.
SELECT s.id || ' ' || s.kind FROM sent s WHERE s.outcome = 'ok' AND s.kind IN ('good', 'flaky', 'curable') AND NOT EXISTS (SELECT 1 FROM effects e WHERE e.msg_id = s.id)
