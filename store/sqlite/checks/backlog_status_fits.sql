-- A row of the backlog has what its status asks for: a time if it is delayed or leased, a
-- token if it is leased, a strict order key if it is blocked.
SELECT count(*), COALESCE(CAST(min(b.id) AS TEXT), '')
FROM {{schema}}.headrace_backlog AS b
WHERE (b.status IN ('delayed', 'leased')) <> (b.due_at IS NOT NULL)
    OR (b.status = 'leased') <> (b.token <> '')
    OR b.status = 'blocked' AND NOT (b.strict AND b.order_key <> '')
