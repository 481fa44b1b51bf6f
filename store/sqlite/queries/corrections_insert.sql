-- The edit of a letter.
INSERT INTO {{schema}}.headrace_letter_edits (letter_id, rev, payload, metadata, by_whom, db_user, reason, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, {{now}})
