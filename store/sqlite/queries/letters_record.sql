-- What a person did to letters, and why.
INSERT INTO {{schema}}.headrace_audit (subject_kind, subject, action, by_whom, reason, redrive_id, detail, at)
SELECT 'letter', CAST(a.value ->> 0 AS TEXT), a.value ->> 1, a.value ->> 2, a.value ->> 3, a.value ->> 4, a.value ->> 5, {{now}}
FROM json_each($1) AS a
ORDER BY a.key
