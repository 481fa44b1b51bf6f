-- What was done to a letter.
SELECT letter_id, action, by_whom, reason, new_key, at
FROM {{schema}}.headrace_audit
WHERE letter_id = $1
ORDER BY id
