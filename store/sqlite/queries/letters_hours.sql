-- How the newest open letters of groups are spread over hours and builds. Those of one
-- fingerprint are next to each other in its index.
SELECT n.created_at / 3600000000 * 3600000000, n.build, count(*), min(n.created_at)
FROM (
    SELECT l.created_at, l.build
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'open' AND l.error_fingerprint = $1
        AND ($2 = '' OR l.consumer = $2) AND ($3 = '' OR l.handler = $3) AND ($4 = '' OR l.class = $4)
    ORDER BY l.error_fingerprint DESC, l.id DESC
    LIMIT $5
) AS n
GROUP BY 1, 2
ORDER BY 1, 4, 2
