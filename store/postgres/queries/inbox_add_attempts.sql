-- Failed runs, each with the next number of its message, in an order that all callers
-- share, so that two of them never wait for each other. No row comes back where another
-- transaction took that number meanwhile; it is seen by the next statement. The SELECT
-- hides the array's size, for which the server would plan the statement each time.
INSERT INTO {{schema}}.headrace_attempts
    (scope, key, n, class, error, error_type, duration_us, host, build, trace_parent, trace_state, at)
SELECT u.scope, u.key,
    COALESCE((SELECT max(a.n) FROM {{schema}}.headrace_attempts AS a WHERE a.scope = u.scope AND a.key = u.key), 0) + 1,
    u.class, u.error, u.error_type, u.duration_us, u.host, u.build, u.trace_parent, u.trace_state,
    {{now}} - u.ago_us * interval '1 microsecond'
FROM unnest((SELECT $1::text[]), $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[],
        $10::text[], $11::bigint[])
    AS u (scope, key, class, error, error_type, duration_us, host, build, trace_parent, trace_state, ago_us)
ORDER BY u.scope COLLATE "C", u.key COLLATE "C"
ON CONFLICT (scope, key, n) DO NOTHING
RETURNING scope, key, n
