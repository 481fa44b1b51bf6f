-- A message begins to wait for a signal, under the lock of its lease. first_call_at is when its
-- time is over.
INSERT INTO {{schema}}.headrace_steps AS s (scope, key, step, system, state, call_id, input_hash, first_call_at, last_call_at, changed_at)
VALUES ($1, $2, $3, '', 'awaiting', '', '', {{now}} + $4, {{now}}, {{now}})
ON CONFLICT (scope, key, step) DO UPDATE
SET state = 'awaiting', first_call_at = excluded.first_call_at, error = '', changed_at = excluded.changed_at
WHERE s.state = 'failed' AND s.system = ''
