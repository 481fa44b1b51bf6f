-- The oldest $3 blocked rows of each key become ready, in their order. A row that another
-- transaction releases is passed over. backlog_read says why it
-- asks for that order.
WITH free AS MATERIALIZED (
    SELECT n.id
    FROM unnest($1::text[], $2::text[]) AS k (scope, order_key)
    CROSS JOIN LATERAL (
        SELECT b.id FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'blocked' AND b.scope = k.scope AND b.order_key = k.order_key
        ORDER BY b.id NULLS FIRST
        LIMIT $3
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS n
), change AS MATERIALIZED (
    SELECT o.id, nextval($headrace${{schema}}.headrace_backlog_id$headrace$) AS place
    FROM (SELECT free.id FROM free ORDER BY free.id) AS o
)
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'ready', ready_at = {{now}}, place = change.place
FROM change
WHERE b.id = change.id
