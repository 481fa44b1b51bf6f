-- The conditions of a namespace, or of all ($2), the earliest first.
SELECT c.key, c.namespace, c.kind, c.instance, c.severity, c.state, c.since, c.quiet_at, c.ended_at, c.n, c.base, c.base_at, c.known, c.alert
FROM {{schema}}.headrace_conditions AS c
WHERE $2::boolean OR c.namespace = $1
ORDER BY c.since, c.key
LIMIT 10000
