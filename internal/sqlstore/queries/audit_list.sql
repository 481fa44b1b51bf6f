-- The newest rows, below an id.
SELECT id, subject_kind, subject, action, by_whom, db_user, reason, redrive_id, detail, at
FROM {{schema}}.headrace_audit
WHERE id < $1
ORDER BY id DESC
LIMIT $2
