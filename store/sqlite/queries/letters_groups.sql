-- Letters of a filter by the reason that they failed for, with the newest as sample.
SELECT g.error_fingerprint, g.consumer, g.handler, sample.class, g.n, g.first, g.last, sample.error, g.newest
FROM (
    SELECT l.error_fingerprint, l.consumer, l.handler, count(*) AS n,
        min(l.created_at) AS first, max(l.created_at) AS last, max(l.id) AS newest
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE ($1 = '' OR l.state = $1)
        AND (json_array_length($2) = 0 OR l.id IN (SELECT r.value FROM json_each($2) AS r))
        AND ($3 = '' OR l.consumer = $3)
        AND ($4 = '' OR l.handler = $4)
        AND ($5 = '' OR l.topic = $5)
        AND ($6 = '' OR l.class = $6)
        AND ($7 = '' OR l.error_fingerprint = $7)
        AND ($8 = '' OR l.key = $8)
        AND ($9 IS NULL OR l.created_at >= $9)
        AND ($10 IS NULL OR l.created_at < $10)
    GROUP BY l.error_fingerprint, l.consumer, l.handler
) AS g
JOIN {{schema}}.headrace_dead_letters AS sample ON sample.id = g.newest
ORDER BY g.n DESC, g.newest DESC
