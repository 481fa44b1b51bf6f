-- A request for a hundred of $1 letters, done long ago.
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < $1 / 100)
INSERT INTO headrace_requests (kind, consumer, build, host, args, by_whom, reason, until, state, answer, at)
SELECT 'pause', 'billing', '', '', '{"id":1}', 'ann', 'why', 1, 'done', '{}', 1 FROM s
