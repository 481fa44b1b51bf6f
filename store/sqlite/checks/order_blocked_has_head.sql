-- A message that waits behind another of its order key has one to wait for.
SELECT count(*), COALESCE(min(b.scope || ' ' || b.key), '')
FROM {{schema}}.headrace_backlog AS b
WHERE b.line = 'blocked' AND NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_backlog AS h
    WHERE h.strict AND h.order_key <> '' AND h.scope = b.scope AND h.order_key = b.order_key AND h.line <> 'blocked'
)
