-- Leases for at most $5 rows: first those whose lease has ended, then those that
-- wait. A row that another transaction is claiming, or that is being committed under
-- its lease, is passed over. Two locking reads, because a UNION takes no lock.
WITH ended AS MATERIALIZED (
    SELECT e.scope, e.key
    FROM {{schema}}.headrace_backlog AS e
    WHERE e.line = 'leased' AND e.consumer = $1 AND e.handler = $2 AND e.due_at <= statement_timestamp()
    ORDER BY e.due_at
    LIMIT $5
    FOR UPDATE SKIP LOCKED
), waits AS MATERIALIZED (
    SELECT w.scope, w.key
    FROM {{schema}}.headrace_backlog AS w
    WHERE w.line = 'leasable' AND w.consumer = $1 AND w.handler = $2
    ORDER BY w.id
    LIMIT $5 - (SELECT count(*) FROM ended)
    FOR UPDATE SKIP LOCKED
), due AS (
    SELECT scope, key, true AS lost FROM ended
    UNION ALL
    SELECT scope, key, false FROM waits
)
UPDATE {{schema}}.headrace_backlog AS b
SET line = 'leased', token = $3, due_at = clock_timestamp() + $4::bigint * interval '1 microsecond', starts = b.starts + 1
FROM due
WHERE b.scope = due.scope AND b.key = due.key
RETURNING b.id, b.handler, b.scope, b.key, b.order_key, b.strict, b.fingerprint, b.message_id, b.topic, b.payload,
    b.metadata, b.coordinates, b.trace_parent, b.trace_state, b.attempt, b.spent, b.letter_id, b.redrives,
    b.reply_topic,
    b.starts, due.lost
