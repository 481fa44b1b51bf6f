-- The failed runs of a message.
SELECT n, class, error, error_type, duration_us, host, build, trace_parent, trace_state, at
FROM {{schema}}.headrace_attempts
WHERE scope = $1 AND key = $2
ORDER BY n
