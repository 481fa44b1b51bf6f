-- Takes the oldest messages that are due and that nobody takes just now. A row that commits late is simply
-- found later: nothing here waits for, or skips, somebody's open transaction. MATERIALIZED: as a subquery of
-- the join it may be run again for each row, and takes more than its limit then. The commit waits for no disk:
-- what a crash of the server forgets of it comes again.
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS setting),
due AS MATERIALIZED (
    SELECT id FROM {{schema}}.headrace_queue
    WHERE topic = $1 AND consumer_group = $2 AND id > $6 AND due_at <= statement_timestamp()
    ORDER BY id LIMIT $3
    FOR UPDATE SKIP LOCKED
)
UPDATE {{schema}}.headrace_queue q
SET due_at = clock_timestamp() + $4::bigint * interval '1 microsecond', holder = $5, deliveries = deliveries + 1
FROM due, relaxed
WHERE q.topic = $1 AND q.consumer_group = $2 AND q.id = due.id AND relaxed.setting = 'off'
RETURNING q.id, q.uuid, q.order_key, q.metadata::text, q.payload
