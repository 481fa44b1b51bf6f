-- A result, from whoever has it: also from one that has lost its lease, and after a person
-- or another call has changed the row. A result that is recorded stays.
-- It must survive a crash of the server, whatever the database's default is.
WITH durable AS MATERIALIZED (
    SELECT set_config('synchronous_commit', CASE WHEN s.was IN ('off', 'local') THEN 'on' ELSE s.was END, true) AS setting
    FROM (SELECT current_setting('synchronous_commit') AS was) AS s
)
UPDATE {{schema}}.headrace_steps AS s
SET state = 'done', call_id = $4, generation = $5, result = $6, external_id = $7, via = $8, error = $9, changed_at = {{now}}
FROM durable
WHERE durable.setting <> '' AND s.scope = $1 AND s.key = $2 AND s.step = $3 AND s.state <> 'done'
