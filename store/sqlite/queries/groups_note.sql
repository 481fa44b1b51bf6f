-- What a person notes; NULL leaves a part as it is.
UPDATE {{schema}}.headrace_groups
SET assignee = COALESCE($4, assignee), note = COALESCE($5, note), link = COALESCE($6, link)
WHERE consumer = $1 AND handler = $2 AND error_fingerprint = $3
