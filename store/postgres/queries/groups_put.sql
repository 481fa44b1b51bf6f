-- What groups have become; times are in µs since 1970, 0 for none. The sample comes from the
-- newest letter while it is there, the time of the first one from that.
INSERT INTO {{schema}}.headrace_groups AS g
    (consumer, handler, error_fingerprint, class, state, state_at, open, total, first_at, last_at, first_build, last_build, first_letter, last_letter,
     sample, resolved_at, resolved_by, resolved_build, muted_until, muted_count, muted_by, muted_anyway)
SELECT i.consumer, i.handler, i.error_fingerprint, i.class, i.state, timestamptz 'epoch' + i.state_at * interval '1 microsecond', i.open, i.total,
    COALESCE((SELECT l.created_at FROM {{schema}}.headrace_dead_letters AS l WHERE l.id = i.first_letter), timestamptz 'epoch' + i.first_at * interval '1 microsecond'),
    timestamptz 'epoch' + i.last_at * interval '1 microsecond',
    i.first_build, i.last_build, i.first_letter, i.last_letter,
    COALESCE((SELECT left(l.error, 500) FROM {{schema}}.headrace_dead_letters AS l WHERE l.id = i.last_letter), i.sample),
    timestamptz 'epoch' + NULLIF(i.resolved_at, 0) * interval '1 microsecond', i.resolved_by, i.resolved_build,
    timestamptz 'epoch' + NULLIF(i.muted_until, 0) * interval '1 microsecond', NULLIF(i.muted_count, 0), i.muted_by, i.muted_anyway
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[],
        $11::text[], $12::text[], $13::bigint[], $14::bigint[], $15::text[], $16::bigint[], $17::text[], $18::text[], $19::bigint[], $20::bigint[],
        $21::text[], $22::boolean[])
    AS i (consumer, handler, error_fingerprint, class, state, state_at, open, total, first_at, last_at,
        first_build, last_build, first_letter, last_letter, sample, resolved_at, resolved_by, resolved_build, muted_until, muted_count,
        muted_by, muted_anyway)
ON CONFLICT (consumer, handler, error_fingerprint) DO UPDATE SET class = excluded.class, state = excluded.state, state_at = excluded.state_at, open = excluded.open, total = excluded.total,
    first_at = excluded.first_at, last_at = excluded.last_at, first_build = excluded.first_build, last_build = excluded.last_build,
    first_letter = excluded.first_letter, last_letter = excluded.last_letter, sample = excluded.sample,
    resolved_at = excluded.resolved_at, resolved_by = excluded.resolved_by, resolved_build = excluded.resolved_build,
    muted_until = excluded.muted_until, muted_count = excluded.muted_count, muted_by = excluded.muted_by, muted_anyway = excluded.muted_anyway
