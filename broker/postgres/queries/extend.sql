-- The holder's word that it is still working on messages. Its commit waits for no disk.
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS setting)
UPDATE {{schema}}.headrace_queue SET due_at = clock_timestamp() + $4::bigint * interval '1 microsecond'
FROM relaxed
WHERE topic = $1 AND consumer_group = $2 AND id = ANY ($3::bigint[]) AND holder = $5 AND relaxed.setting = 'off'
