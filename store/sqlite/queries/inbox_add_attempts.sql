-- Failed runs, each with the next number of its message.
INSERT INTO {{schema}}.headrace_attempts
    (scope, key, n, class, error, error_type, duration_us, host, build, trace_parent, trace_state, at)
SELECT u.value ->> 0, u.value ->> 1,
    COALESCE((SELECT max(a.n) FROM {{schema}}.headrace_attempts AS a WHERE a.scope = u.value ->> 0 AND a.key = u.value ->> 1), 0) + 1,
    u.value ->> 2, u.value ->> 3, u.value ->> 4, u.value ->> 5, u.value ->> 6, u.value ->> 7, u.value ->> 8, u.value ->> 9,
    {{now}} - (u.value ->> 10)
FROM json_each($1) AS u
RETURNING scope, key, n
