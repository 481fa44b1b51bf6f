-- Open letters by the reason that they failed for, with the newest as sample: as
-- letters_groups, for filters that choose whole groups. It reads the index, and two
-- letters of each group. At most $5 groups: where there are that many, letters_groups
-- is faster.
SELECT g.error_fingerprint, g.consumer, g.handler, g.class, g.n, oldest.created_at, newest.created_at, newest.error, newest.id
FROM (
    SELECT l.consumer, l.class, l.error_fingerprint, l.handler, count(*) AS n, min(l.id) AS first, max(l.id) AS last
    FROM {{schema}}.headrace_dead_letters AS l INDEXED BY headrace_dead_letters_groups
    WHERE l.state = 'open'
        AND ($1 = '' OR l.consumer = $1)
        AND ($2 = '' OR l.handler = $2)
        AND ($3 = '' OR l.class = $3)
        AND ($4 = '' OR l.error_fingerprint = $4)
    GROUP BY l.consumer, l.class, l.error_fingerprint, l.handler
    LIMIT $5
) AS g
JOIN {{schema}}.headrace_dead_letters AS oldest ON oldest.id = g.first
JOIN {{schema}}.headrace_dead_letters AS newest ON newest.id = g.last
ORDER BY g.n DESC, newest.id DESC
