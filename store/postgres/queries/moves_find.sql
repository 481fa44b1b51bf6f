-- The rows of some messages of a consumer.
SELECT b.id, b.handler, b.scope, b.key, b.status
FROM {{schema}}.headrace_backlog AS b
WHERE b.consumer = $1 AND b.key = ANY ($2::text[])
ORDER BY b.id
