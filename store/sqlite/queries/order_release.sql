-- The oldest blocked row of a key goes to the ready line, with the id $3, unless an
-- earlier one is still on its way.
UPDATE {{schema}}.headrace_backlog
SET line = 'ready', ready_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, id = $3
WHERE id = (
        SELECT min(b.id) FROM {{schema}}.headrace_backlog AS b
        WHERE b.strict AND b.order_key <> '' AND b.scope = $1 AND b.order_key = $2 AND b.line = 'blocked'
    )
    AND NOT EXISTS (
        SELECT 1 FROM {{schema}}.headrace_backlog AS b
        WHERE b.strict AND b.order_key <> '' AND b.scope = $1 AND b.order_key = $2 AND b.line <> 'blocked'
    )
