-- Blocked rows become ready where all earlier rows of their key are gone or ready: they
-- come behind those. Only the first blocked row of a key can be one. It jumps from key to
-- key along the index. backlog_read says why it asks for that order.
WITH RECURSIVE head AS (
    (
        SELECT b.consumer, b.scope, b.order_key, b.id FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'blocked'
        ORDER BY b.scope, b.order_key, b.id NULLS FIRST
        LIMIT 1
    )
    UNION ALL
    SELECT following.consumer, following.scope, following.order_key, following.id
    FROM head
    CROSS JOIN LATERAL (
        SELECT b.consumer, b.scope, b.order_key, b.id FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'blocked' AND (b.scope, b.order_key) > (head.scope, head.order_key)
        ORDER BY b.scope, b.order_key, b.id NULLS FIRST
        LIMIT 1
    ) AS following
), free AS MATERIALIZED (
    SELECT f.id
    FROM head
    CROSS JOIN LATERAL (
        SELECT b.id, b.status FROM {{schema}}.headrace_backlog AS b
        WHERE b.id = head.id
        LIMIT 1
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS f
    WHERE head.consumer = $1 AND f.status = 'blocked' AND (
        SELECT e.id FROM {{schema}}.headrace_backlog AS e
        WHERE e.strict AND e.order_key <> '' AND (e.status <> 'ready' OR e.place <> e.id) AND e.status <> 'ready'
            AND e.scope = head.scope AND e.order_key = head.order_key AND e.id < head.id
        ORDER BY e.id NULLS FIRST
        LIMIT 1
    ) IS NULL
    LIMIT $2
), change AS MATERIALIZED (
    SELECT o.id, nextval($headrace${{schema}}.headrace_backlog_id$headrace$) AS place
    FROM (SELECT free.id FROM free ORDER BY free.id) AS o
)
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'ready', ready_at = {{now}}, place = change.place
FROM change
WHERE b.id = change.id
