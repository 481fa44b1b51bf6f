-- Keys that have no row in a scope, in the order of the caller.
SELECT c.value
FROM json_each($2) AS c
WHERE NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_inbox AS i WHERE i.scope = $1 AND i.key = c.value)
ORDER BY c.key
