-- Held rows that may be published now: delayed ones and those in backoff that are
-- due, and the rows that stand behind one of these, unless another of their order
-- still has to wait. A row whose order has an earlier one that waits is not due.
WITH head AS MATERIALIZED (
    SELECT h.outbox, h.shard, h.id, h.reason, h.topic, h.order_key
    FROM {{schema}}.headrace_outbox_held AS h
    WHERE h.outbox = $3 AND h.shard = $1 AND h.due_at <= (SELECT {{now}})
        AND (h.reason = 'delayed' OR h.order_key = '' OR NOT EXISTS (
            SELECT 1 FROM {{schema}}.headrace_outbox_held AS e
            WHERE e.outbox = h.outbox AND e.shard = h.shard AND e.topic = h.topic AND e.order_key = h.order_key AND e.id < h.id
                AND e.order_key <> '' AND e.reason IN ('backoff', 'parked')
                AND (e.reason = 'parked' OR e.due_at > (SELECT {{now}}))
        ))
    ORDER BY h.due_at, h.id
    LIMIT $2
), due AS MATERIALIZED (
    SELECT head.id FROM head
    UNION
    SELECT other.value
    FROM head
    CROSS JOIN json_each((
        -- At most $2 of each order, however many stand there.
        SELECT json_group_array(o.id) FROM (
            SELECT o.id FROM {{schema}}.headrace_outbox_held AS o
            WHERE o.outbox = head.outbox AND o.shard = head.shard AND o.topic = head.topic AND o.order_key = head.order_key
                AND o.order_key <> '' AND o.reason <> 'delayed'
            ORDER BY o.id
            LIMIT $2
        ) AS o
    )) AS other
    WHERE head.reason <> 'delayed' AND NOT EXISTS (
        SELECT 1 FROM {{schema}}.headrace_outbox_held AS b
        WHERE b.outbox = head.outbox AND b.shard = head.shard AND b.topic = head.topic AND b.order_key = head.order_key
            AND b.order_key <> '' AND b.reason IN ('backoff', 'parked')
            AND (b.reason = 'parked' OR b.due_at > (SELECT {{now}}))
    )
)
SELECT h.id, h.message_id, h.topic, h.order_key, h.payload, h.metadata, h.trace_parent, h.trace_state,
    h.created_at,
    h.attempts, h.reason, COALESCE(h.due_at - (SELECT {{now}}), 0), h.error
FROM {{schema}}.headrace_outbox_held AS h
WHERE h.outbox = $3 AND h.shard = $1 AND h.id IN (SELECT due.id FROM due)
ORDER BY h.id
LIMIT $2
