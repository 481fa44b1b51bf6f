-- Another call begins, unless somebody has changed the row since it was read. The window
-- of a key begins with its first call.
UPDATE {{schema}}.headrace_steps AS s
SET state = 'pending', system = $6, call_id = $7, input_hash = $8, generation = $9, calls = s.calls + 1, error = '',
    first_call_at = CASE WHEN s.generation = $9 THEN COALESCE(s.first_call_at, {{now}}) ELSE {{now}} END,
    last_call_at = {{now}}, changed_at = {{now}}
FROM {{schema}}.headrace_durable() AS durable
WHERE durable <> '' AND s.scope = $1 AND s.key = $2 AND s.step = $3 AND s.state = $4 AND s.call_id = $5
