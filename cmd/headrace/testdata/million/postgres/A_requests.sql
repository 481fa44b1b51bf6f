-- A request for a hundred of $1 letters, done long ago.
INSERT INTO headrace_requests (kind, consumer, build, host, args, by_whom, reason, until, state, answer)
SELECT 'pause', 'billing', '', '', '{"id":1}', 'ann', 'why', now() - interval '1 day', 'done', '{}' FROM generate_series(1, $1::bigint / 100) AS n
