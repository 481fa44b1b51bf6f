-- Blocked rows become ready where all earlier rows of their key are gone or ready: they
-- come behind those, with the last $2 ids that were taken of the sequence as places. Only
-- the first blocked row of a key can be one. It jumps from key to key along the index.
WITH RECURSIVE head AS (
    SELECT * FROM (
        SELECT b.consumer, b.scope, b.order_key, b.id FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'blocked'
        ORDER BY b.scope, b.order_key, b.id
        LIMIT 1
    )
    UNION ALL
    SELECT following.consumer, following.scope, following.order_key, following.id
    FROM head
    CROSS JOIN {{schema}}.headrace_backlog AS following ON following.id = COALESCE((
        SELECT b.id FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'blocked' AND b.scope = head.scope AND b.order_key > head.order_key
        ORDER BY b.order_key, b.id
        LIMIT 1
    ), (
        SELECT b.id FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'blocked' AND b.scope > head.scope
        ORDER BY b.scope, b.order_key, b.id
        LIMIT 1
    ))
)
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'ready', ready_at = {{now}}, place = free.place
FROM (
    SELECT f.id, s.last - $2 + row_number() OVER (ORDER BY f.id) AS place
    FROM (
        SELECT head.id FROM head
        WHERE head.consumer = $1 AND NOT EXISTS (
            SELECT 1 FROM {{schema}}.headrace_backlog AS e
            WHERE e.strict AND e.order_key <> '' AND (e.status <> 'ready' OR e.place <> e.id)
                AND e.scope = head.scope AND e.order_key = head.order_key AND e.id < head.id AND e.status <> 'ready'
        )
        LIMIT $2
    ) AS f
    CROSS JOIN {{schema}}.headrace_sequences AS s ON s.name = 'backlog'
) AS free
WHERE b.id = free.id
