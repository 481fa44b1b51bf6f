-- The orders of a shard whose rows have to wait, and the first of each. Many may
-- wait behind one: it jumps from order to order along the index.
WITH RECURSIVE orders AS (
    (
        SELECT h.topic, h.order_key, h.id FROM {{schema}}.headrace_outbox_held AS h
        WHERE h.outbox = $2 AND h.shard = $1 AND h.reason <> 'delayed' AND h.order_key <> ''
        ORDER BY h.topic, h.order_key, h.id
        LIMIT 1
    )
    UNION ALL
    SELECT following.topic, following.order_key, following.id
    FROM orders
    CROSS JOIN LATERAL (
        SELECT h.topic, h.order_key, h.id FROM {{schema}}.headrace_outbox_held AS h
        WHERE h.outbox = $2 AND h.shard = $1 AND h.reason <> 'delayed' AND h.order_key <> ''
            AND (h.topic, h.order_key) > (orders.topic, orders.order_key)
        ORDER BY h.topic, h.order_key, h.id
        LIMIT 1
    ) AS following
)
SELECT topic, order_key, id FROM orders
