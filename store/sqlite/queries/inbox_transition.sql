-- Only rows that are still where the caller saw them move.
UPDATE {{schema}}.headrace_inbox AS i SET state = $3, changed_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
FROM json_each($1) AS c
WHERE i.scope = c.value ->> 0 AND i.key = c.value ->> 1 AND i.state = $2
RETURNING scope, key
