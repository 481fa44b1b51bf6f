-- What was done to a letter.
SELECT CAST(subject AS bigint), action, by_whom, db_user, reason, redrive_id, detail, at
FROM {{schema}}.headrace_audit
WHERE subject_kind = 'letter' AND subject = $1::bigint::text
ORDER BY id
