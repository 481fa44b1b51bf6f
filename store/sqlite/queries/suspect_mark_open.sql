-- In suspect mode: a call of this step may have been made although no row says so, or a
-- later one than the row says. It was made after the message ($7; NULL is unknown) and
-- before the mode's time, so the step is as after a call without an answer.
INSERT INTO {{schema}}.headrace_steps AS s (scope, key, step, system, state, calls, call_id, input_hash, first_call_at, last_call_at, settled_at, changed_at)
SELECT $1, $2, $3, $4, 'pending', 0, $5, $6, min(COALESCE($7, 0), {{now}}), min(m.suspect_until, {{now}}),
    min(m.suspect_until, {{now}}) + $8, {{now}}
FROM {{schema}}.headrace_meta AS m
WHERE m.one = 1 AND m.suspect_until > COALESCE($7, 0)
ON CONFLICT (scope, key, step) DO UPDATE
SET state = 'pending', calls = 0, call_id = excluded.call_id, error = '', first_call_at = COALESCE(s.first_call_at, s.changed_at),
    last_call_at = excluded.last_call_at, settled_at = max(COALESCE(s.settled_at, 0), excluded.settled_at), changed_at = excluded.changed_at
WHERE s.state = 'failed' AND s.changed_at <= (SELECT m.suspect_since FROM {{schema}}.headrace_meta AS m WHERE m.one = 1)
