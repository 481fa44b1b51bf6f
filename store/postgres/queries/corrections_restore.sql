-- Discarded letters of a consumer are open again, unless another one of their message is. Those
-- that another transaction has are skipped, and so are earlier letters of the same message.
WITH closed AS MATERIALIZED (
    SELECT l.ctid AS place
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.id = ANY ($1::bigint[]) AND l.consumer = $2 AND l.state = 'discarded' AND (l.class = 'conflict' OR NOT EXISTS (
        SELECT 1 FROM {{schema}}.headrace_dead_letters AS o
        WHERE o.scope = l.scope AND o.key = l.key AND o.class <> 'conflict'
            AND (o.state = 'open' OR o.state = 'discarded' AND o.id > l.id AND o.id = ANY ($1::bigint[]))
    ))
    ORDER BY l.id
    FOR UPDATE SKIP LOCKED
)
UPDATE {{schema}}.headrace_dead_letters AS t
SET state = 'open', changed_at = {{now}}
FROM closed
WHERE t.ctid = closed.place
RETURNING t.id, t.class, t.consumer, t.handler, t.scope, t.key, t.fingerprint
