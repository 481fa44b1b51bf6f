-- Letters of a filter in a window by the reason that they failed for, with the newest as
-- sample. The window is as in letters_list.
SELECT g.error_fingerprint, g.consumer, g.handler, sample.class, g.n, g.first, g.last, sample.error, g.newest
FROM (
    SELECT l.error_fingerprint, l.consumer, l.handler, count(*) AS n,
        min(l.created_at) AS first, max(l.created_at) AS last, max(l.id) AS newest
    FROM (
        SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
        WHERE $16::text = 'all' AND l.id > $17::bigint AND l.id < $18::bigint
        UNION ALL
        SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
        WHERE $16::text = 'open' AND l.state = 'open' AND l.id > $17::bigint AND l.id < $18::bigint
        UNION ALL
        SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
        WHERE $16::text = 'group' AND l.state = 'open'
            AND (l.error_fingerprint, l.id) > ($7::text, $17::bigint) AND (l.error_fingerprint, l.id) < ($7::text, $18::bigint)
        UNION ALL
        SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
        WHERE $16::text = 'key'
            AND (l.key, l.id) > ($8::text, $17::bigint) AND (l.key, l.id) < ($8::text, $18::bigint)
        UNION ALL
        SELECT l.* FROM {{schema}}.headrace_dead_letters AS l
        WHERE $16::text = 'ids' AND l.id = ANY ($2::bigint[]) AND l.id > $17::bigint AND l.id < $18::bigint
    ) AS l
    WHERE ($1::text = '' OR l.state = $1::text)
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
        AND ($13::text = '' OR position($13::text IN l.error) > 0 OR position(convert_to($13::text, 'UTF8') IN l.payload) > 0)
        AND ($14::bytea IS NULL OR position($14::bytea IN l.metadata) > 0)
        AND ($15::bytea IS NULL OR position($15::bytea IN l.payload) > 0 OR position('\x5c'::bytea IN l.payload) > 0)
    GROUP BY l.error_fingerprint, l.consumer, l.handler
) AS g
CROSS JOIN LATERAL (SELECT s.class, s.error FROM {{schema}}.headrace_dead_letters AS s WHERE s.id = g.newest LIMIT 1) AS sample
ORDER BY g.n DESC, g.newest DESC
