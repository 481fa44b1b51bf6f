-- Due rows go to the end of the ready line, with the ids after $3.
UPDATE {{schema}}.headrace_backlog AS b
SET line = 'ready', due_at = NULL, ready_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, id = $3 + due.place
FROM (
    SELECT d.scope, d.key, row_number() OVER (ORDER BY d.due_at, d.id) AS place
    FROM {{schema}}.headrace_backlog AS d
    WHERE d.line = 'delayed' AND d.consumer = $1 AND d.due_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
    ORDER BY d.due_at, d.id
    LIMIT $2
) AS due
WHERE b.scope = due.scope AND b.key = due.key
