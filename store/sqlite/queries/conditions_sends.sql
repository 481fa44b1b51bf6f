-- What a sink ($2), or any, knows of the conditions of a namespace, or of all ($3).
SELECT s.key, s.sink, s.phase, s.severity, s.n, s.sent_at, s.failures, s.failing_at, s.down_at, s.due_at, s.error, s.lost
FROM {{schema}}.headrace_sends AS s
JOIN {{schema}}.headrace_conditions AS c ON c.key = s.key
WHERE ($3 OR c.namespace = $1) AND ($2 = '' OR s.sink = $2)
ORDER BY s.key, s.sink
