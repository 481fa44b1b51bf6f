-- The holder's word that it is still working on messages; those that another one holds by now stay his. By
-- place, as in ack.sql. The commit waits for no disk.
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS setting)
UPDATE {{schema}}.headrace_queue SET due_at = clock_timestamp() + $4::bigint * interval '1 microsecond'
FROM relaxed
WHERE ctid = ANY (ARRAY (
    SELECT (SELECT ctid FROM {{schema}}.headrace_queue WHERE topic = $1 AND consumer_group = $2 AND id = given.id)
    FROM unnest($3::bigint[]) AS given (id)
)) AND holder = $5 AND relaxed.setting = 'off'
