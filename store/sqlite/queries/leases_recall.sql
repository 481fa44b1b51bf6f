-- Rows of a handler that is not leased any more go back to the ready line, with the ids
-- after $4: those that wait to be leased, and those whose lease has ended.
UPDATE {{schema}}.headrace_backlog AS b
SET line = 'ready', token = '', due_at = NULL, ready_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, id = $4 + stray.place
FROM (
    SELECT due.scope, due.key, row_number() OVER (ORDER BY due.id) AS place
    FROM (
        SELECT l.scope, l.key, l.id FROM {{schema}}.headrace_backlog AS l
        WHERE l.line = 'leasable' AND l.consumer = $1 AND l.handler = $2
        UNION ALL
        SELECT l.scope, l.key, l.id FROM {{schema}}.headrace_backlog AS l
        WHERE l.line = 'leased' AND l.consumer = $1 AND l.handler = $2 AND l.due_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        ORDER BY 3
        LIMIT $3
    ) AS due
) AS stray
WHERE b.scope = stray.scope AND b.key = stray.key
