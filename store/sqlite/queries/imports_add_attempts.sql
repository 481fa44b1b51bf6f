-- Failed runs of messages that come from another database, with the numbers and times that they
-- have there.
INSERT INTO {{schema}}.headrace_attempts
    (scope, key, class, error, error_type, duration_us, host, build, trace_parent, trace_state, at, n)
SELECT u.value ->> 0, u.value ->> 1, u.value ->> 2, u.value ->> 3, u.value ->> 4, u.value ->> 5, u.value ->> 6, u.value ->> 7,
    u.value ->> 8, u.value ->> 9, u.value ->> 10, u.value ->> 11
FROM json_each($1) AS u
WHERE true
ON CONFLICT DO NOTHING
