-- Ten messages for each of $1 letters: its own, one that waits for ten of them, and others that are done.
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 9 * $1)
INSERT INTO headrace_inbox (scope, key, state, fingerprint, changed_at)
SELECT l.scope, l.key, CASE l.state WHEN 'open' THEN 'dead' ELSE l.state END, 'f', 1 FROM headrace_dead_letters AS l
UNION ALL
SELECT 'billing/h' || (n % 8), 'message' || n, CASE WHEN n * 10 <= $1 THEN 'waiting' ELSE 'done' END, 'f', 1 FROM s
ORDER BY 1, 2
