-- Ten messages for each of $1 letters: its own, one that waits for ten of them, and others that are done.
INSERT INTO headrace_inbox (scope, key, state, fingerprint)
SELECT l.scope, l.key, CASE l.state WHEN 'open' THEN 'dead' ELSE l.state END, 'f' FROM headrace_dead_letters AS l
UNION ALL
SELECT 'billing/h' || n % 8, 'message' || n, CASE WHEN n * 10 <= $1::bigint THEN 'waiting' ELSE 'done' END, 'f'
FROM generate_series(1, 9 * $1::bigint) AS n
