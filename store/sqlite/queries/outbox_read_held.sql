-- Held rows that may be published now: delayed ones that are due; for each order
-- its first row, if that is due; and the rows behind such a first row, unless
-- another of the order still has to wait.
WITH head AS MATERIALIZED (
    SELECT h.shard, h.id, h.reason, h.topic, h.order_key
    FROM {{schema}}.headrace_outbox_held AS h
    WHERE h.shard = $1 AND h.due_at <= CAST(unixepoch('subsec') * 1000000 AS INTEGER)
        AND (h.reason = 'delayed' OR h.order_key = '' OR NOT EXISTS (
            SELECT 1 FROM {{schema}}.headrace_outbox_held AS e
            WHERE e.shard = h.shard AND e.topic = h.topic AND e.order_key = h.order_key AND e.id < h.id
                AND e.reason <> 'delayed' AND e.order_key <> ''
        ))
    ORDER BY h.due_at, h.id
    LIMIT $2
), free AS MATERIALIZED (
    SELECT head.* FROM head
    WHERE head.reason <> 'delayed' AND head.order_key <> '' AND NOT EXISTS (
        SELECT 1 FROM {{schema}}.headrace_outbox_held AS b
        WHERE b.shard = head.shard AND b.topic = head.topic AND b.order_key = head.order_key
            AND b.order_key <> '' AND b.reason <> 'delayed'
            AND (b.reason = 'parked' OR b.reason = 'backoff' AND b.due_at > CAST(unixepoch('subsec') * 1000000 AS INTEGER))
    )
), due AS MATERIALIZED (
    SELECT head.id FROM head
    UNION
    SELECT * FROM (
        SELECT f.id
        FROM free
        CROSS JOIN {{schema}}.headrace_outbox_held AS f ON f.shard = free.shard AND f.topic = free.topic
            AND f.order_key = free.order_key AND f.id > free.id AND f.reason <> 'delayed' AND f.order_key <> ''
        ORDER BY f.id
        LIMIT $2
    )
)
SELECT h.id, h.message_id, h.topic, h.order_key, h.payload, h.metadata, h.trace_parent, h.trace_state,
    CAST(unixepoch('subsec') * 1000000 AS INTEGER) - h.created_at, h.attempts, h.reason, COALESCE(h.due_at - CAST(unixepoch('subsec') * 1000000 AS INTEGER), 0), h.error
FROM {{schema}}.headrace_outbox_held AS h
WHERE h.shard = $1 AND h.id IN (SELECT due.id FROM due)
ORDER BY h.id
LIMIT $2
