-- An idle look: whether a row waits to be leased, and how long the lease that ends
-- first has to go.
SELECT
    (
        SELECT b.id FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'leasable' AND b.consumer = $1 AND b.handler = $2
        ORDER BY b.place
        LIMIT 1
    ) IS NOT NULL,
    (
        SELECT (extract(epoch FROM b.due_at - {{now}}) * 1000000)::bigint
        FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'leased' AND b.consumer = $1 AND b.handler = $2
        ORDER BY b.due_at
        LIMIT 1
    )
