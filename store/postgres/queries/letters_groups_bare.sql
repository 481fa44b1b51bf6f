-- letters_groups for a login that may not read what messages say, and so not look for it.
SELECT g.error_fingerprint, g.consumer, g.handler, sample.class, g.n, g.first, g.last, sample.error, g.newest
FROM (
    SELECT l.error_fingerprint, l.consumer, l.handler, count(*) AS n,
        min(l.created_at) AS first, max(l.created_at) AS last, max(l.id) AS newest
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.id > $17::bigint AND l.id < $18::bigint AND ($16::text <> 'ids' OR l.id = ANY ($2::bigint[]))
        AND ($1::text = '' OR l.state = $1::text)
        AND ($3::text = '' OR l.consumer = $3::text)
        AND ($4::text = '' OR l.handler = $4::text)
        AND ($5::text = '' OR l.topic = $5::text)
        AND ($6::text = '' OR l.class = $6::text)
        AND ($7::text = '' OR l.error_fingerprint = $7::text)
        AND ($8::text = '' OR l.key = $8::text)
        AND ($9::timestamptz IS NULL OR l.created_at >= $9::timestamptz)
        AND ($10::timestamptz IS NULL OR l.created_at < $10::timestamptz)
        AND ($11::text = '' OR l.build = $11::text)
        AND ($12::text = '' OR l.host = $12::text)
        AND $13::text = '' AND $14::bytea IS NULL AND $15::bytea IS NULL
    GROUP BY l.error_fingerprint, l.consumer, l.handler
) AS g
JOIN {{schema}}.headrace_dead_letters AS sample ON sample.id = g.newest
ORDER BY g.n DESC, g.newest DESC
