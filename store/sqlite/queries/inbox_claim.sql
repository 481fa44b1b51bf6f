-- The right to handle messages: a row for each that has none.
INSERT INTO {{schema}}.headrace_inbox (scope, key, fingerprint, state, changed_at)
SELECT c.value ->> 0, c.value ->> 1, c.value ->> 2, $2, {{now}}
FROM json_each($1) AS c
WHERE true
ON CONFLICT (scope, key) DO NOTHING
RETURNING scope, key
