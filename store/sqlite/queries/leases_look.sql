-- An idle look: whether a row waits to be leased, and how long the lease that ends
-- first has to go.
SELECT
    EXISTS (
        SELECT 1 FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'leasable' AND b.consumer = $1 AND b.handler = $2
    ),
    (
        SELECT b.due_at - {{now}}
        FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'leased' AND b.consumer = $1 AND b.handler = $2
        ORDER BY b.due_at
        LIMIT 1
    )
