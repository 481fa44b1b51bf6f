-- Delayed rows are due now; the next look at the backlog makes them ready. A row behind another
-- one of its strict order key stays, since that one runs first. A row that another transaction
-- works on is passed over.
WITH chosen AS MATERIALIZED (
    SELECT b.id
    FROM {{schema}}.headrace_backlog AS b
    WHERE b.status = 'delayed' AND b.consumer = $1 AND b.due_at > (SELECT {{now}})
        AND ($2::text = '' OR b.handler = $2::text)
        AND ($3::text = '' OR b.error_fingerprint = $3::text)
        AND (cardinality($5::text[]) = 0 OR b.key = ANY ($5::text[]))
        AND NOT (b.strict AND b.order_key <> '' AND EXISTS (
            SELECT FROM {{schema}}.headrace_backlog AS e
            WHERE e.strict AND e.order_key <> '' AND e.scope = b.scope AND e.order_key = b.order_key AND e.id < b.id
                AND (e.status <> 'ready' OR e.place <> e.id)
        ))
    ORDER BY b.due_at, b.id
    LIMIT $4
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE {{schema}}.headrace_backlog AS b
SET due_at = {{now}}
FROM chosen
WHERE b.id = chosen.id
