-- Ready rows wait for an earlier row of their strict order key. That row is locked, if it
-- can be without waiting, so that it is there until this transaction ends: a transaction that ends it
-- then waits, and sees the blocked rows when it looks for those to release. Where all
-- earlier rows are gone, or locked by transactions that end them, the row is left as it is.
-- backlog_read says why it asks for that order; LIMIT 1 has a row found by its id, however
-- few ready ones the planner expects.
WITH behind AS MATERIALIZED (
    SELECT b.id
    FROM unnest($1::bigint[]) AS r (id)
    CROSS JOIN LATERAL (
        SELECT a.* FROM {{schema}}.headrace_backlog AS a
        WHERE a.id = r.id
        LIMIT 1
    ) AS b
    CROSS JOIN LATERAL (
        SELECT FROM {{schema}}.headrace_backlog AS e
        WHERE e.strict AND e.order_key <> '' AND (e.status <> 'ready' OR e.place <> e.id)
            AND e.scope = b.scope AND e.order_key = b.order_key AND e.id < b.id
            AND (e.status <> 'ready' OR e.place > b.place)
        ORDER BY e.id NULLS FIRST
        LIMIT 1
        FOR KEY SHARE SKIP LOCKED
    ) AS earlier
    WHERE b.status = 'ready' AND b.strict AND b.order_key <> ''
)
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'blocked'
FROM behind
WHERE b.id = behind.id
RETURNING b.id
