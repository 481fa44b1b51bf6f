-- letters_groups for a login that may not read what messages say, and so not look for it.
SELECT g.error_fingerprint, g.consumer, g.handler, sample.class, g.n, g.first, g.last, sample.error, g.newest
FROM (
    SELECT l.error_fingerprint, l.consumer, l.handler, count(*) AS n,
        min(l.created_at) AS first, max(l.created_at) AS last, max(l.id) AS newest
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.id > $17::bigint AND l.id < $18::bigint AND ($16::text <> 'ids' OR l.id = ANY ($2::bigint[]))
        AND {{letters_chosen}}
        AND $13::text = '' AND $14::bytea IS NULL AND $15::bytea IS NULL
    GROUP BY l.error_fingerprint, l.consumer, l.handler
) AS g
JOIN {{schema}}.headrace_dead_letters AS sample ON sample.id = g.newest
ORDER BY g.n DESC, g.newest DESC
