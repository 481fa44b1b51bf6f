-- Due rows go to the end of the ready line. Two promoters pass each other by.
WITH due AS MATERIALIZED (
    SELECT b.scope, b.key
    FROM {{schema}}.headrace_backlog AS b
    WHERE b.line = 'delayed' AND b.consumer = $1 AND b.due_at <= statement_timestamp()
    ORDER BY b.due_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
UPDATE {{schema}}.headrace_backlog AS b
SET line = 'ready', due_at = NULL, ready_at = clock_timestamp(), id = DEFAULT
FROM due
WHERE b.scope = due.scope AND b.key = due.key
