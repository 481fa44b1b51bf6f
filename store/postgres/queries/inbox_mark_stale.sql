-- The messages are done, and nothing was applied.
UPDATE {{schema}}.headrace_inbox AS i SET stale = true
FROM unnest($1::text[], $2::text[]) AS c (scope, key)
WHERE i.scope = c.scope AND i.key = c.key AND i.state = 'done'
