-- Rows of a handler that is not leased any more become ready: those that wait to be
-- leased, and those whose lease has ended.
WITH ended AS MATERIALIZED (
    SELECT e.id, e.place
    FROM {{schema}}.headrace_backlog AS e
    WHERE e.status = 'leased' AND e.consumer = $1 AND e.handler = $2 AND e.due_at <= (SELECT {{now}})
    ORDER BY e.due_at
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
), waits AS MATERIALIZED (
    SELECT w.id, w.place
    FROM {{schema}}.headrace_backlog AS w
    WHERE w.status = 'leasable' AND w.consumer = $1 AND w.handler = $2
    ORDER BY w.place
    LIMIT $3 - (SELECT count(*) FROM ended)
    FOR NO KEY UPDATE SKIP LOCKED
), stray AS MATERIALIZED (
    SELECT o.id, nextval($headrace${{schema}}.headrace_backlog_id$headrace$) AS place
    FROM (SELECT * FROM ended UNION ALL SELECT * FROM waits ORDER BY place) AS o
)
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'ready', token = '', due_at = NULL, ready_at = {{now}}, place = stray.place
FROM stray
WHERE b.id = stray.id AND b.id = ANY (ARRAY(SELECT stray.id FROM stray))
