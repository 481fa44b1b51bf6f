-- Answers, in place of earlier ones.
INSERT INTO {{schema}}.headrace_answers (scope, key, answered_at, answer)
SELECT a.scope, a.key, {{now}}, a.answer
FROM unnest($1::text[], $2::text[], $3::text[]) AS a (scope, key, answer)
ORDER BY a.scope COLLATE "C", a.key COLLATE "C"
ON CONFLICT (scope, key) DO UPDATE SET answered_at = EXCLUDED.answered_at, answer = EXCLUDED.answer
