-- How the newest open letters of groups are spread over hours and builds. Those of one
-- fingerprint are next to each other in its index.
SELECT date_trunc('hour', n.created_at, 'UTC'), n.build, count(*), min(n.created_at)
FROM (
    SELECT l.created_at, l.build
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'open' AND l.error_fingerprint = $1
        AND ($2::text = '' OR l.consumer = $2::text) AND ($3::text = '' OR l.handler = $3::text) AND ($4::text = '' OR l.class = $4::text)
    ORDER BY l.error_fingerprint DESC, l.id DESC
    LIMIT $5
) AS n
GROUP BY 1, 2
ORDER BY 1, 4, 2
