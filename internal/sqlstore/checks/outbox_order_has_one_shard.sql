-- The events of an order stand on one shard.
SELECT count(*), COALESCE(min(o.topic || ' ' || o.order_key), '')
FROM (
    SELECT topic, order_key FROM (
        SELECT shard, topic, order_key FROM {{schema}}.headrace_outbox WHERE order_key <> ''
        UNION ALL
        SELECT shard, topic, order_key FROM {{schema}}.headrace_outbox_held WHERE order_key <> ''
    ) AS line
    GROUP BY topic, order_key
    HAVING min(shard) <> max(shard)
) AS o
