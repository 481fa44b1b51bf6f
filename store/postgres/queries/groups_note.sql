-- What a person notes; NULL leaves a part as it is.
UPDATE {{schema}}.headrace_groups
SET assignee = COALESCE($4::text, assignee), note = COALESCE($5::text, note), link = COALESCE($6::text, link)
WHERE consumer = $1 AND handler = $2 AND error_fingerprint = $3
