-- Rows of a handler that is not leased any more go back to the ready line: those that
-- wait to be leased, and those whose lease has ended.
WITH stray AS MATERIALIZED (
    SELECT b.scope, b.key
    FROM {{schema}}.headrace_backlog AS b
    WHERE b.consumer = $1 AND b.handler = $2
        AND (b.line = 'leasable' OR b.line = 'leased' AND b.due_at <= statement_timestamp())
    ORDER BY b.id
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)
UPDATE {{schema}}.headrace_backlog AS b
SET line = 'ready', token = '', due_at = NULL, ready_at = clock_timestamp(), id = DEFAULT
FROM stray
WHERE b.scope = stray.scope AND b.key = stray.key
