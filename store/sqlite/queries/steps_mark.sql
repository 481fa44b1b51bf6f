-- A first call begins, if the lease ($8, $9) is still held. In suspect mode there may have
-- been a call whose row is lost: then nothing is inserted. An earlier try of the
-- same call may have inserted it.
INSERT INTO {{schema}}.headrace_steps (scope, key, step, system, state, call_id, input_hash, first_call_at, last_call_at, settled_at, changed_at)
SELECT $1, $2, $3, $4, 'pending', $5, $6, {{now}}, {{now}}, {{now}} + $10, {{now}}
FROM {{schema}}.headrace_backlog
WHERE id = $8 AND status = 'leased' AND token = $9
    AND NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_meta AS m WHERE m.one = 1 AND m.suspect_until > COALESCE($7, 0))
ON CONFLICT (scope, key, step) DO UPDATE SET call_id = excluded.call_id
WHERE headrace_steps.call_id = excluded.call_id AND headrace_steps.state = 'pending'
