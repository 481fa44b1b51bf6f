-- What a person did to letters, and why.
INSERT INTO {{schema}}.headrace_audit (letter_id, action, by_whom, reason, new_key, at)
SELECT a.value ->> 0, a.value ->> 1, a.value ->> 2, a.value ->> 3, a.value ->> 4, {{now}}
FROM json_each($1) AS a
ORDER BY a.key
