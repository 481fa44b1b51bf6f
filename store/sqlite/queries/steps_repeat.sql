-- Another call begins, if the lease ($11, $12) is still held, unless another transaction
-- has changed the row since it was read. The window of a key begins with its first call. In
-- suspect mode a later call than the one that failed may be lost.
UPDATE {{schema}}.headrace_steps AS s
SET state = 'pending', system = $6, call_id = $7, input_hash = $8, generation = $9, calls = s.calls + 1, error = '',
    first_call_at = CASE WHEN s.generation = $9 THEN COALESCE(s.first_call_at, {{now}}) ELSE {{now}} END,
    last_call_at = {{now}}, settled_at = max(COALESCE(s.settled_at, 0), {{now}} + $13), changed_at = {{now}}
WHERE s.scope = $1 AND s.key = $2 AND s.step = $3 AND s.state = $4 AND s.call_id = $5
    AND (s.state <> 'failed' OR NOT EXISTS (
        SELECT 1 FROM {{schema}}.headrace_meta AS m WHERE m.one = 1 AND m.suspect_until > COALESCE($10, 0) AND s.changed_at <= m.suspect_since
    ))
    AND EXISTS (SELECT 1 FROM {{schema}}.headrace_backlog AS b WHERE b.id = $11 AND b.status = 'leased' AND b.token = $12)
