-- A step of each of $1 messages: some need a person, many are pending, skipped and done. They are scattered.
INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, external_id, via, first_call_at, last_call_at, changed_at)
SELECT 'billing/h' || n % 8, 'message' || n, 'charge', 'bank', s, 'c', '', CASE s WHEN 'done' THEN 'ch_' || n ELSE '' END, CASE s WHEN 'done' THEN 'call' ELSE '' END, t, t, t
FROM (
    SELECT n, CASE WHEN n % 100 = 0 THEN 'parked' ELSE (ARRAY['done', 'pending', 'skipped', 'done'])[n % 4 + 1] END AS s, now() - interval '30 days' * ((n * 7919 % $1::bigint)::float8 / $1::bigint) AS t
    FROM generate_series(1, $1::bigint) AS n
) AS rows
