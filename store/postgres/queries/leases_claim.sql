-- Leases for at most $5 rows: first those whose lease has ended, then those that
-- wait. A row that another transaction is claiming, or that is being committed under
-- its lease, is passed over. Two locking reads, because a UNION takes no lock.
WITH ended AS MATERIALIZED (
    SELECT e.id
    FROM {{schema}}.headrace_backlog AS e
    WHERE e.status = 'leased' AND e.consumer = $1 AND e.handler = $2 AND e.due_at <= (SELECT {{now}})
    ORDER BY e.due_at
    LIMIT $5
    FOR NO KEY UPDATE SKIP LOCKED
), waits AS MATERIALIZED (
    SELECT w.id
    FROM {{schema}}.headrace_backlog AS w
    WHERE w.status = 'leasable' AND w.consumer = $1 AND w.handler = $2
    ORDER BY w.place
    LIMIT $5 - (SELECT count(*) FROM ended)
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'leased', token = $3, due_at = {{now}} + $4::bigint * interval '1 microsecond', starts = b.starts + 1
WHERE b.id = ANY (ARRAY(SELECT ended.id FROM ended UNION ALL SELECT waits.id FROM waits))
RETURNING b.id, b.place, b.handler, b.scope, COALESCE(b.key, ''), b.order_key, b.strict, COALESCE(b.fingerprint, ''), b.message_id, b.topic,
    b.payload, b.metadata, b.coordinates, b.trace_parent, b.trace_state,
    b.attempt, b.spent, b.reruns, COALESCE((extract(epoch FROM {{now}} - b.postponed_at) * 1000000)::bigint, 0),
    b.letter_id, b.redrives, b.reply_topic,
    b.starts, b.id = ANY (ARRAY(SELECT ended.id FROM ended))
