-- The edits of a letter, oldest first, without what they say.
SELECT letter_id, rev, by_whom, db_user, reason, at
FROM {{schema}}.headrace_letter_edits
WHERE letter_id = $1
ORDER BY rev
