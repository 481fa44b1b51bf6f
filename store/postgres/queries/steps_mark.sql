-- A first call begins. Where another one has marked the step, and has not committed yet,
-- this waits for it.
-- It must survive a crash of the server, whatever the database's default is.
WITH durable AS MATERIALIZED (
    SELECT set_config('synchronous_commit', CASE WHEN s.was IN ('off', 'local') THEN 'on' ELSE s.was END, true) AS setting
    FROM (SELECT current_setting('synchronous_commit') AS was) AS s
)
INSERT INTO {{schema}}.headrace_steps (scope, key, step, system, state, call_id, input_hash, first_call_at, last_call_at, changed_at)
SELECT $1, $2, $3, $4, 'pending', $5, $6, {{now}}, {{now}}, {{now}}
FROM durable
ON CONFLICT (scope, key, step) DO NOTHING
