-- The end of a stretch of the inbox: the row $4 behind ($1, $2), in a scope below $3.
SELECT i.scope, i.key
FROM {{schema}}.headrace_inbox AS i
WHERE (i.scope, i.key) > ($1, $2) AND i.scope < $3
ORDER BY i.scope, i.key
LIMIT 1 OFFSET $4
