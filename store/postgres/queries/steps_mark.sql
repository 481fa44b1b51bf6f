-- A first call begins. Where another one has marked the step, and has not committed yet,
-- this waits for it.
INSERT INTO {{schema}}.headrace_steps (scope, key, step, system, state, call_id, input_hash, first_call_at, last_call_at, changed_at)
SELECT $1, $2, $3, $4, 'pending', $5, $6, {{now}}, {{now}}, {{now}}
FROM {{schema}}.headrace_durable()
ON CONFLICT (scope, key, step) DO NOTHING
