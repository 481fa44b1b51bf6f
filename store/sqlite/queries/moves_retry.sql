-- Delayed rows are due now; the next look at the backlog makes them ready. A row behind another
-- one of its strict order key stays, since that one runs first.
UPDATE {{schema}}.headrace_backlog
SET due_at = {{now}}
WHERE id IN (
    SELECT b.id
    FROM {{schema}}.headrace_backlog AS b
    WHERE b.status = 'delayed' AND b.consumer = $1 AND b.due_at > (SELECT {{now}})
        AND ($2 = '' OR b.handler = $2)
        AND ($3 = '' OR b.error_fingerprint = $3)
        AND (json_array_length($5) = 0 OR b.key IN (SELECT k.value FROM json_each($5) AS k))
        AND NOT (b.strict AND b.order_key <> '' AND EXISTS (
            SELECT 1 FROM {{schema}}.headrace_backlog AS e
            WHERE e.strict AND e.order_key <> '' AND e.scope = b.scope AND e.order_key = b.order_key AND e.id < b.id
                AND (e.status <> 'ready' OR e.place <> e.id)
        ))
    ORDER BY b.due_at, b.id
    LIMIT $4
)
