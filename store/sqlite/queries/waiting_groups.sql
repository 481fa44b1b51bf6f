-- Rows that failed, by error fingerprint and handler, with the newest as sample. It jumps
-- from fingerprint to fingerprint along the index of failed rows, to $4 at most, and
-- counts $5 rows, the first ones of each: as many of one as of another.
WITH RECURSIVE prints AS (
    SELECT (
        SELECT b.error_fingerprint FROM {{schema}}.headrace_backlog AS b
        WHERE b.error_fingerprint <> '' AND ($3 = '' OR b.error_fingerprint = $3)
        ORDER BY b.error_fingerprint LIMIT 1
    ) AS print
    UNION ALL
    SELECT (
        SELECT b.error_fingerprint FROM {{schema}}.headrace_backlog AS b
        WHERE b.error_fingerprint <> '' AND b.error_fingerprint > prints.print AND $3 = ''
        ORDER BY b.error_fingerprint LIMIT 1
    )
    FROM prints
    WHERE prints.print IS NOT NULL
), some AS MATERIALIZED (
    SELECT prints.print FROM prints
    WHERE prints.print IS NOT NULL
    LIMIT $4
), chosen AS MATERIALIZED (
    SELECT some.print, (
        SELECT b.id FROM {{schema}}.headrace_backlog AS b
        WHERE b.error_fingerprint <> '' AND b.error_fingerprint = some.print
        ORDER BY b.id LIMIT 1 OFFSET $5 / (SELECT count(*) FROM some) - 1
    ) AS upto
    FROM some
), grp AS (
    SELECT b.error_fingerprint, b.consumer, b.handler, count(*) AS n, min(CASE WHEN b.status = 'delayed' THEN b.due_at END) AS due,
        max(b.id) AS newest, max(chosen.upto) IS NOT NULL AS more
    FROM chosen
    JOIN {{schema}}.headrace_backlog AS b ON b.error_fingerprint <> '' AND b.error_fingerprint = chosen.print
        AND b.id <= COALESCE(chosen.upto, 9223372036854775807)
    WHERE ($1 = '' OR b.consumer = $1) AND ($2 = '' OR b.handler = $2)
    GROUP BY b.error_fingerprint, b.consumer, b.handler
)
SELECT grp.error_fingerprint, grp.consumer, grp.handler, grp.n, grp.more, grp.due, grp.newest, COALESCE((
        SELECT a.error
        FROM {{schema}}.headrace_backlog AS s
        JOIN {{schema}}.headrace_attempts AS a ON a.scope = s.scope AND a.key = s.key
        WHERE s.id = grp.newest
        ORDER BY a.n DESC
        LIMIT 1
    ), '')
FROM grp
ORDER BY grp.n DESC, grp.newest DESC
