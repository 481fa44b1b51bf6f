-- What a person did, and why.
INSERT INTO {{schema}}.headrace_audit (subject_kind, subject, action, by_whom, reason, redrive_id, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7)
