-- A failed run, with the next number of its message. No row comes back where another
-- transaction took that number meanwhile; it is seen by the next statement.
INSERT INTO {{schema}}.headrace_attempts
    (scope, key, n, class, error, error_type, duration_us, host, build, trace_parent, trace_state, at)
SELECT $1::text, $2::text, COALESCE(max(a.n), 0) + 1, $3, $4, $5, $6, $7, $8, $9, $10,
    clock_timestamp() - $11::bigint * interval '1 microsecond'
FROM {{schema}}.headrace_attempts AS a
WHERE a.scope = $1::text AND a.key = $2::text
ON CONFLICT (scope, key, n) DO NOTHING
RETURNING n
