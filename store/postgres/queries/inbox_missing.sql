-- Keys that have no row in a scope, in the order of the caller.
SELECT c.key
FROM unnest($2::text[]) WITH ORDINALITY AS c (key, n)
WHERE NOT EXISTS (
    SELECT FROM {{schema}}.headrace_inbox AS i WHERE i.scope = $1 AND i.key = c.key OFFSET 0
)
ORDER BY c.n
