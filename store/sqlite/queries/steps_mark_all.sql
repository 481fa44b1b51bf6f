-- steps_mark for first calls of many messages.
INSERT INTO {{schema}}.headrace_steps (scope, key, step, system, state, call_id, input_hash, first_call_at, last_call_at, settled_at, changed_at)
SELECT a.value ->> 0, a.value ->> 1, a.value ->> 2, a.value ->> 3, 'pending', a.value ->> 4, a.value ->> 5, {{now}}, {{now}}, {{now}} + (a.value ->> 9), {{now}}
FROM json_each($1) AS a
CROSS JOIN {{schema}}.headrace_backlog AS b
WHERE b.id = a.value ->> 7 AND b.status = 'leased' AND b.token = a.value ->> 8
    AND NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_meta AS m WHERE m.one = 1 AND m.suspect_until > a.value ->> 6)
ON CONFLICT (scope, key, step) DO NOTHING
