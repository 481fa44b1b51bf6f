-- Acknowledged: their effects are committed, whoever holds them meanwhile. The commit waits for no disk: what a
-- crash of the server forgets of it comes again, as a duplicate.
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS setting)
DELETE FROM {{schema}}.headrace_queue USING relaxed
WHERE topic = $1 AND consumer_group = $2 AND id = ANY ($3::bigint[]) AND relaxed.setting = 'off'
