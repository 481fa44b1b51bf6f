-- The messages of an order key are on one shard.
SELECT count(*), COALESCE(min(o.scope || ' ' || o.order_key), '')
FROM (
    SELECT scope, order_key FROM {{schema}}.headrace_backlog
    WHERE order_key <> ''
    GROUP BY scope, order_key
    HAVING min(shard) <> max(shard)
) AS o
