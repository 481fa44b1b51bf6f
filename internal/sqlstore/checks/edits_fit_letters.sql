-- The edits of a letter are numbered from 1 to its rev, and each has its letter.
SELECT count(*), COALESCE(min(CAST(COALESCE(l.id, e.letter_id) AS text)), '')
FROM (
    SELECT letter_id, count(*) AS edits, min(rev) AS first, max(rev) AS last
    FROM {{schema}}.headrace_letter_edits
    GROUP BY letter_id
) AS e
FULL JOIN (SELECT id, rev FROM {{schema}}.headrace_dead_letters WHERE rev <> 0) AS l ON l.id = e.letter_id
WHERE l.rev IS DISTINCT FROM e.edits OR e.first <> 1 OR e.last <> e.edits
