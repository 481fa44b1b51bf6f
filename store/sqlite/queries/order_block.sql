-- Ready rows wait for an earlier row of their strict order key. Nothing else can be at
-- work on that one.
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'blocked'
WHERE b.id IN (SELECT r.value FROM json_each($1) AS r) AND b.status = 'ready' AND b.strict AND b.order_key <> ''
    AND EXISTS (
        SELECT 1 FROM {{schema}}.headrace_backlog AS e
        WHERE e.strict AND e.order_key <> '' AND (e.status <> 'ready' OR e.place <> e.id)
            AND e.scope = b.scope AND e.order_key = b.order_key AND e.id < b.id
            AND (e.status <> 'ready' OR e.place > b.place)
    )
RETURNING id
