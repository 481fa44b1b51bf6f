-- The rows of some messages of a consumer.
SELECT b.id, b.handler, b.scope, b.key, b.status
FROM {{schema}}.headrace_backlog AS b
WHERE b.consumer = $1 AND b.key IN (SELECT k.value FROM json_each($2) AS k)
ORDER BY b.id
