-- The oldest $2 blocked rows of each key become ready, in their order, with the last ids
-- that were taken of the sequence as places.
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'ready', ready_at = {{now}}, place = free.place
FROM (
    SELECT w.value AS id, s.last - $2 * json_array_length($1) + row_number() OVER (ORDER BY w.value) AS place
    FROM json_each($1) AS k
    CROSS JOIN json_each((
        SELECT json_group_array(o.id) FROM (
            SELECT n.id FROM {{schema}}.headrace_backlog AS n
            WHERE n.status = 'blocked' AND n.scope = k.value ->> 0 AND n.order_key = k.value ->> 1
            ORDER BY n.id
            LIMIT $2
        ) AS o
    )) AS w
    CROSS JOIN {{schema}}.headrace_sequences AS s ON s.name = 'backlog'
) AS free
WHERE b.id = free.id
