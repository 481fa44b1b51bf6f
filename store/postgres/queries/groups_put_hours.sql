-- Letters are added to the hours of groups; times are in µs since 1970.
INSERT INTO {{schema}}.headrace_group_hours AS h (consumer, handler, error_fingerprint, hour, build, n, first_at)
SELECT i.consumer, i.handler, i.error_fingerprint, timestamptz 'epoch' + i.hour * interval '1 microsecond', i.build, i.n,
    timestamptz 'epoch' + i.first_at * interval '1 microsecond'
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[])
    AS i (consumer, handler, error_fingerprint, hour, build, n, first_at)
ON CONFLICT (consumer, handler, error_fingerprint, hour, build) DO UPDATE SET n = h.n + excluded.n, first_at = LEAST(h.first_at, excluded.first_at)
