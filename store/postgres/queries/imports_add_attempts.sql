-- Failed runs of messages that come from another database, with the numbers and times that they
-- have there.
INSERT INTO {{schema}}.headrace_attempts
    (scope, key, n, class, error, error_type, duration_us, host, build, trace_parent, trace_state, at)
SELECT u.scope, u.key, u.n, u.class, u.error, u.error_type, u.duration_us, u.host, u.build, u.trace_parent, u.trace_state,
    timestamptz 'epoch' + u.at_us * interval '1 microsecond'
FROM unnest((SELECT $1::text[]), $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[],
        $10::text[], $11::bigint[], $12::bigint[])
    AS u (scope, key, class, error, error_type, duration_us, host, build, trace_parent, trace_state, at_us, n)
ORDER BY u.scope COLLATE "C", u.key COLLATE "C", u.n
ON CONFLICT (scope, key, n) DO NOTHING
