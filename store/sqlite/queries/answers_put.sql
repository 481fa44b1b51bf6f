-- Answers, in place of earlier ones.
INSERT INTO {{schema}}.headrace_answers (scope, key, answered_at, answer)
SELECT a.value ->> 0, a.value ->> 1, {{now}}, a.value ->> 2
FROM json_each($1) AS a
WHERE true
ON CONFLICT (scope, key) DO UPDATE SET answered_at = excluded.answered_at, answer = excluded.answer
