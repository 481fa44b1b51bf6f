-- The newest rows of a subject, below an id.
SELECT id, subject_kind, subject, action, by_whom, db_user, reason, redrive_id, detail, at
FROM {{schema}}.headrace_audit
WHERE subject_kind = $3 AND subject = $4 AND id < $1
ORDER BY id DESC
LIMIT $2
