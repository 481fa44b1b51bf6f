-- Due rows become ready, in the order of their times, with the last $2 ids that were taken
-- of the sequence as places.
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'ready', due_at = NULL, ready_at = {{now}}, place = due.place
FROM (
    SELECT d.id, s.last - $2 + row_number() OVER (ORDER BY d.due_at, d.id) AS place
    FROM {{schema}}.headrace_sequences AS s
    CROSS JOIN (
        SELECT w.id, w.due_at FROM {{schema}}.headrace_backlog AS w
        WHERE w.status = 'delayed' AND w.consumer = $1 AND w.due_at <= (SELECT {{now}})
        ORDER BY w.due_at, w.id
        LIMIT $2
    ) AS d
    WHERE s.name = 'backlog'
) AS due
WHERE b.id = due.id
