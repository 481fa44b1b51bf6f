-- Rows of a handler that is not leased any more become ready, with the last $3 ids that
-- were taken of the sequence as places: those that wait to be leased, and those whose lease
-- has ended.
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'ready', token = '', due_at = NULL, ready_at = {{now}}, place = stray.place
FROM (
    SELECT due.id, s.last - $3 + row_number() OVER (ORDER BY due.place) AS place
    FROM {{schema}}.headrace_sequences AS s
    CROSS JOIN (
        SELECT l.id, l.place FROM {{schema}}.headrace_backlog AS l
        WHERE l.status = 'leasable' AND l.consumer = $1 AND l.handler = $2
        UNION ALL
        SELECT l.id, l.place FROM {{schema}}.headrace_backlog AS l
        WHERE l.status = 'leased' AND l.consumer = $1 AND l.handler = $2 AND l.due_at <= (SELECT {{now}})
        ORDER BY 2
        LIMIT $3
    ) AS due
    WHERE s.name = 'backlog'
) AS stray
WHERE b.id = stray.id
