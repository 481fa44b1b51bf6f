-- Leases for at most $5 rows that wait.
UPDATE {{schema}}.headrace_backlog AS b
SET line = 'leased', token = $3, due_at = (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + $4) / 1000 * 1000, starts = b.starts + 1
WHERE b.id IN (
    SELECT w.id FROM {{schema}}.headrace_backlog AS w
    WHERE w.line = 'leasable' AND w.consumer = $1 AND w.handler = $2
    ORDER BY w.id
    LIMIT $5
)
RETURNING id, handler, scope, key, order_key, strict, fingerprint, message_id, topic, payload,
    metadata, coordinates, trace_parent, trace_state, attempt, spent, letter_id, redrives,
    reply_topic,
    starts, 0
