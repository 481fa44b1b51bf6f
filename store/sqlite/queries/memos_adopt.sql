-- A result becomes that of a step, if the lease ($8, $9) is still held, as with steps_mark.
INSERT INTO {{schema}}.headrace_steps AS s (scope, key, step, system, state, call_id, input_hash, via, result, calls, last_call_at, changed_at)
SELECT $1, $2, $3, m.system, 'done', $7, m.input, 'memo', m.result, 0, {{now}}, {{now}}
FROM {{schema}}.headrace_backlog AS b
JOIN {{schema}}.headrace_memos AS m ON m.system = $4 AND m.step = $5 AND m.input = $6
WHERE b.id = $8 AND b.status = 'leased' AND b.token = $9 AND m.result IS NOT NULL AND m.until_at > {{now}}
ON CONFLICT (scope, key, step) DO UPDATE
SET system = excluded.system, state = 'done', call_id = excluded.call_id, input_hash = excluded.input_hash, via = 'memo', result = excluded.result,
    error = '', changed_at = excluded.changed_at
WHERE s.state IN ('pending', 'failed') OR s.call_id = excluded.call_id
