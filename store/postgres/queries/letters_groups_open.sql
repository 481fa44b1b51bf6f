-- Open letters by the reason that they failed for, with the newest as sample: as
-- letters_groups, for filters that choose whole groups. It jumps from group to group
-- along the index, counts each there, and looks at two of its letters. At most $5
-- groups: where there are that many, letters_groups is faster.
WITH RECURSIVE grp AS (
    (
        SELECT l.consumer, l.class, l.error_fingerprint, l.handler
        FROM {{schema}}.headrace_dead_letters AS l
        WHERE l.state = 'open'
            AND ($1::text = '' OR l.consumer = $1::text) AND ($2::text = '' OR l.handler = $2::text)
            AND ($3::text = '' OR l.class = $3::text) AND ($4::text = '' OR l.error_fingerprint = $4::text)
        ORDER BY l.consumer, l.class, l.error_fingerprint, l.handler
        LIMIT 1
    )
    UNION ALL
    SELECT following.consumer, following.class, following.error_fingerprint, following.handler
    FROM grp
    CROSS JOIN LATERAL (
        SELECT l.consumer, l.class, l.error_fingerprint, l.handler
        FROM {{schema}}.headrace_dead_letters AS l
        WHERE l.state = 'open'
            AND (l.consumer, l.class, l.error_fingerprint, l.handler) > (grp.consumer, grp.class, grp.error_fingerprint, grp.handler)
            AND ($1::text = '' OR l.consumer = $1::text) AND ($2::text = '' OR l.handler = $2::text)
            AND ($3::text = '' OR l.class = $3::text) AND ($4::text = '' OR l.error_fingerprint = $4::text)
        ORDER BY l.consumer, l.class, l.error_fingerprint, l.handler
        LIMIT 1
    ) AS following
), chosen AS MATERIALIZED (
    SELECT * FROM grp LIMIT $5
)
SELECT g.error_fingerprint, g.consumer, g.handler, g.class, counted.n, oldest.created_at, newest.created_at, newest.error, newest.id
FROM chosen AS g
CROSS JOIN LATERAL (
    SELECT count(*) AS n
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'open' AND l.consumer = g.consumer AND l.class = g.class AND l.error_fingerprint = g.error_fingerprint AND l.handler = g.handler
) AS counted
CROSS JOIN LATERAL (
    SELECT l.created_at
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'open' AND l.error_fingerprint = g.error_fingerprint AND l.consumer = g.consumer AND l.class = g.class AND l.handler = g.handler
    ORDER BY l.error_fingerprint, l.id
    LIMIT 1
) AS oldest
CROSS JOIN LATERAL (
    SELECT l.id, l.created_at, l.error
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'open' AND l.error_fingerprint = g.error_fingerprint AND l.consumer = g.consumer AND l.class = g.class AND l.handler = g.handler
    ORDER BY l.error_fingerprint DESC, l.id DESC
    LIMIT 1
) AS newest
ORDER BY counted.n DESC, newest.id DESC
