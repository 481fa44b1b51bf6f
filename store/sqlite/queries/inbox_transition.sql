-- Only rows that are still where the caller saw them move. A transaction of SQLite has no
-- id ('').
UPDATE {{schema}}.headrace_inbox AS i SET state = $3, changed_at = {{now}}
FROM json_each($1) AS c
WHERE i.scope = c.value ->> 0 AND i.key = c.value ->> 1 AND i.state = $2
RETURNING '', scope, key
