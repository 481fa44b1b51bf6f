-- A step of each of $1 messages: some need a person, many are pending, skipped and done. They are scattered.
WITH RECURSIVE m (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM m WHERE n < $1)
INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, external_id, via, first_call_at, last_call_at, changed_at)
SELECT 'billing/h' || (n % 8), 'message' || n, 'charge', 'bank', s, 'c', '', CASE s WHEN 'done' THEN 'ch_' || n ELSE '' END, CASE s WHEN 'done' THEN 'call' ELSE '' END, t, t, t
FROM (
    SELECT n, CASE WHEN n % 100 = 0 THEN 'parked' WHEN n % 4 = 1 THEN 'pending' WHEN n % 4 = 2 THEN 'skipped' ELSE 'done' END AS s, (unixepoch() - n * 7919 % $1 * 2592000 / $1) * 1000000 AS t FROM m
)
