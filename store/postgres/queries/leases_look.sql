-- An idle look: whether a row waits to be leased, and how long the lease that ends
-- first has to go.
SELECT
    EXISTS (
        SELECT FROM {{schema}}.headrace_backlog AS b
        WHERE b.line = 'leasable' AND b.consumer = $1 AND b.handler = $2
    ),
    (
        SELECT (extract(epoch FROM b.due_at - clock_timestamp()) * 1000000)::bigint
        FROM {{schema}}.headrace_backlog AS b
        WHERE b.line = 'leased' AND b.consumer = $1 AND b.handler = $2
        ORDER BY b.due_at
        LIMIT 1
    )
