-- What groups have become; times are in µs since 1970, 0 for none. The sample comes from the
-- newest letter while it is there, the time of the first one from that.
INSERT INTO {{schema}}.headrace_groups
    (consumer, handler, error_fingerprint, class, state, state_at, open, total, first_at, last_at, first_build, last_build, first_letter, last_letter,
     sample, resolved_at, resolved_by, resolved_build, muted_until, muted_count, muted_by, muted_anyway)
SELECT i.value ->> 0, i.value ->> 1, i.value ->> 2, i.value ->> 3, i.value ->> 4, i.value ->> 5, i.value ->> 6, i.value ->> 7,
    COALESCE((SELECT l.created_at FROM {{schema}}.headrace_dead_letters AS l WHERE l.id = i.value ->> 12), i.value ->> 8), i.value ->> 9,
    i.value ->> 10, i.value ->> 11, i.value ->> 12, i.value ->> 13,
    COALESCE((SELECT substr(l.error, 1, 500) FROM {{schema}}.headrace_dead_letters AS l WHERE l.id = i.value ->> 13), i.value ->> 14),
    NULLIF(i.value ->> 15, 0), i.value ->> 16, i.value ->> 17, NULLIF(i.value ->> 18, 0), NULLIF(i.value ->> 19, 0), i.value ->> 20, i.value ->> 21
FROM json_each($1) AS i
WHERE true
ON CONFLICT (consumer, handler, error_fingerprint) DO UPDATE SET class = excluded.class, state = excluded.state, state_at = excluded.state_at, open = excluded.open, total = excluded.total,
    first_at = excluded.first_at, last_at = excluded.last_at, first_build = excluded.first_build, last_build = excluded.last_build,
    first_letter = excluded.first_letter, last_letter = excluded.last_letter, sample = excluded.sample,
    resolved_at = excluded.resolved_at, resolved_by = excluded.resolved_by, resolved_build = excluded.resolved_build,
    muted_until = excluded.muted_until, muted_count = excluded.muted_count, muted_by = excluded.muted_by, muted_anyway = excluded.muted_anyway
