-- Due rows become ready, in the order of their times. Two promoters pass each other by.
-- The lock is one that Block does not wait for.
WITH due AS MATERIALIZED (
    SELECT b.id
    FROM {{schema}}.headrace_backlog AS b
    WHERE b.status = 'delayed' AND b.consumer = $1 AND b.due_at <= (SELECT {{now}})
    ORDER BY b.due_at, b.id
    LIMIT $2
    FOR NO KEY UPDATE SKIP LOCKED
), change AS MATERIALIZED (
    SELECT due.id, nextval($headrace${{schema}}.headrace_backlog_id$headrace$) AS place FROM due
)
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'ready', due_at = NULL, ready_at = {{now}}, place = change.place
FROM change
WHERE b.id = change.id
