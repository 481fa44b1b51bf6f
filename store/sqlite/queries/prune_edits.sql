-- The edits of letters that go.
DELETE FROM {{schema}}.headrace_letter_edits
WHERE letter_id IN (SELECT c.value FROM json_each($1) AS c)
