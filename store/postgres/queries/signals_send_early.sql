-- A signal for a message that is not known yet, for $7 µs. If it has come meanwhile and waits, this
-- inserts nothing; a wait that begins now finds it.
INSERT INTO {{schema}}.headrace_steps (scope, key, step, system, state, call_id, input_hash, via, result, by_whom, reason, calls, last_call_at, changed_at, settled_at)
SELECT $1, $2, $3, '', 'done', '', '', 'signal', $4, $5, $6, 0, {{now}}, {{now}}, {{now}} + $7::bigint * interval '1 microsecond'
FROM {{schema}}.headrace_durable()
ON CONFLICT (scope, key, step) DO NOTHING
