-- Takes the oldest messages that are due and that no other worker takes just now. A row that commits late is simply
-- found later: nothing here waits for an open transaction, or skips it. The rows are updated by their
-- place and not in a join: of a queue that filled since the last ANALYZE the planner expects one row, and a
-- join then reads the whole queue for each row taken. (A row that another process wrote meanwhile is not at
-- the place that this statement sees; it is taken the next time.) MATERIALIZED: limited once. The commit waits
-- for no disk: what a crash of the server forgets of it comes again.
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS setting),
due AS MATERIALIZED (
    SELECT ctid AS place FROM {{schema}}.headrace_queue
    WHERE topic = $1 AND consumer_group = $2 AND id > $6 AND due_at <= statement_timestamp()
    ORDER BY id LIMIT $3
    FOR UPDATE SKIP LOCKED
)
UPDATE {{schema}}.headrace_queue q
SET due_at = clock_timestamp() + $4::bigint * interval '1 microsecond', holder = $5, deliveries = deliveries + 1
FROM relaxed
WHERE q.ctid = ANY (ARRAY (SELECT place FROM due)) AND relaxed.setting = 'off'
RETURNING q.id, q.uuid, q.order_key, q.metadata::text, q.payload, q.sent_at
