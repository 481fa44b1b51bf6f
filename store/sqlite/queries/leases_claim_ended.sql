-- Leases for at most $5 rows whose lease has ended.
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'leased', token = $3, due_at = ({{now}} + $4) / 1000 * 1000, starts = b.starts + 1
WHERE b.id IN (
    SELECT w.id FROM {{schema}}.headrace_backlog AS w
    WHERE w.status = 'leased' AND w.consumer = $1 AND w.handler = $2 AND w.due_at <= (SELECT {{now}})
    ORDER BY w.due_at
    LIMIT $5
)
RETURNING id, place, handler, scope, COALESCE(key, ''), order_key, strict, COALESCE(fingerprint, ''), message_id, topic,
    payload, metadata, coordinates, trace_parent, trace_state,
    attempt, spent, reruns, COALESCE({{now}} - postponed_at, 0),
    letter_id, redrives, reply_topic,
    starts, 1
