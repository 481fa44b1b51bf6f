-- A signal, for a message that waits for it or will.
INSERT INTO {{schema}}.headrace_steps AS s (scope, key, step, system, state, call_id, input_hash, via, result, by_whom, reason, calls, last_call_at, changed_at)
VALUES ($1, $2, $3, '', 'done', '', '', 'signal', $4, $5, $6, 0, {{now}}, {{now}})
ON CONFLICT (scope, key, step) DO UPDATE
SET state = 'done', via = 'signal', result = excluded.result, by_whom = excluded.by_whom, reason = excluded.reason, error = '', changed_at = excluded.changed_at
WHERE s.state IN ('awaiting', 'failed') AND s.system = ''
