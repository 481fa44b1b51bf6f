-- Poison ends as a letter and nothing else does.
SELECT s.id || ' ' || s.kind FROM sent s WHERE s.outcome = 'ok' AND s.kind IN ('poison', 'exhausted', 'killer') AND NOT EXISTS (SELECT 1 FROM letters l WHERE l.key = s.id AND l.state = 'open')
UNION ALL SELECT s.id || ' ' || s.kind || ' ' || l.class FROM sent s JOIN letters l ON l.key = s.id WHERE s.kind IN ('good', 'flaky') AND l.class <> 'crashed' AND (SELECT value FROM run WHERE name = 'blameless') = 1
