-- Rows that failed, by error fingerprint and handler, with the newest as sample. It jumps
-- from fingerprint to fingerprint along the index of failed rows, to $4 at most, and
-- counts $5 rows, the first ones of each: as many of one as of another. NULLS FIRST is the
-- order of that index alone.
WITH RECURSIVE prints AS (
    SELECT (
        SELECT b.error_fingerprint FROM {{schema}}.headrace_backlog AS b
        WHERE b.error_fingerprint <> '' AND ($3::text = '' OR b.error_fingerprint = $3::text)
        ORDER BY b.error_fingerprint LIMIT 1
    ) AS print
    UNION ALL
    SELECT (
        SELECT b.error_fingerprint FROM {{schema}}.headrace_backlog AS b
        WHERE b.error_fingerprint <> '' AND b.error_fingerprint > prints.print AND $3::text = ''
        ORDER BY b.error_fingerprint LIMIT 1
    )
    FROM prints
    WHERE prints.print IS NOT NULL
), chosen AS MATERIALIZED (
    SELECT prints.print FROM prints
    WHERE prints.print IS NOT NULL
    LIMIT $4
), share AS MATERIALIZED (
    SELECT $5::bigint / GREATEST(count(*), 1) AS n FROM chosen
), grp AS (
    SELECT f.error_fingerprint, f.consumer, f.handler, count(*) AS n, min(CASE WHEN f.status = 'delayed' THEN f.due_at END) AS due,
        max(f.id) AS newest, bool_or(f.n = share.n) AS more
    FROM chosen
    CROSS JOIN share
    CROSS JOIN LATERAL (
        SELECT c.*, count(*) OVER () AS n
        FROM (
            SELECT b.error_fingerprint, b.id, b.consumer, b.handler, b.status, b.due_at
            FROM {{schema}}.headrace_backlog AS b
            WHERE b.error_fingerprint <> '' AND b.error_fingerprint = chosen.print
            ORDER BY b.error_fingerprint, b.id NULLS FIRST
            LIMIT share.n
        ) AS c
    ) AS f
    WHERE ($1::text = '' OR f.consumer = $1::text) AND ($2::text = '' OR f.handler = $2::text)
    GROUP BY f.error_fingerprint, f.consumer, f.handler
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
