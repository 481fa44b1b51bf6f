-- The messages are done, and nothing was applied.
UPDATE {{schema}}.headrace_inbox AS i SET stale = 1
FROM json_each($1) AS c
WHERE i.scope = c.value ->> 0 AND i.key = c.value ->> 1 AND i.state = 'done'
