-- What was done to a letter.
SELECT CAST(subject AS INTEGER), action, by_whom, db_user, reason, redrive_id, detail, at
FROM {{schema}}.headrace_audit
WHERE subject_kind = 'letter' AND subject = CAST($1 AS TEXT)
ORDER BY id
