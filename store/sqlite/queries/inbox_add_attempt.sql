-- A failed run, with the next number of its message.
INSERT INTO {{schema}}.headrace_attempts
    (scope, key, n, class, error, error_type, duration_us, host, build, trace_parent, trace_state, at)
SELECT $1, $2, COALESCE(max(a.n), 0) + 1, $3, $4, $5, $6, $7, $8, $9, $10,
    CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - $11
FROM {{schema}}.headrace_attempts AS a
WHERE a.scope = $1 AND a.key = $2
RETURNING n
