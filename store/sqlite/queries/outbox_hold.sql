-- A row moves to the held line, or changes there. It keeps its id, and with it its
-- place in the order.
INSERT INTO {{schema}}.headrace_outbox_held
    (shard, id, reason, due_at, attempts, error, message_id, topic, order_key, payload, metadata,
     trace_parent, trace_state, created_at)
SELECT o.shard, o.id, $3, CASE WHEN $3 IN ('delayed', 'backoff') THEN (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + $4) / 1000 * 1000 END, $5, $6,
    o.message_id, o.topic, o.order_key, o.payload, o.metadata, o.trace_parent, o.trace_state, o.created_at
FROM {{schema}}.headrace_outbox AS o
WHERE o.shard = $1 AND o.id = $2
