-- The newest open letters that $1 to $5 choose, $6 at most, and the oldest one.
WITH l AS NOT MATERIALIZED (
    SELECT d.id
    FROM {{schema}}.headrace_dead_letters AS d
    WHERE d.state = 'open' AND ($1 = '' OR d.consumer = $1) AND ($2 = '' OR d.handler = $2) AND ($3 = '' OR d.topic = $3)
        AND ($4 = '' OR d.class = $4) AND ($5 = '' OR d.error_fingerprint = $5)
)
SELECT n.id FROM (SELECT l.id FROM l ORDER BY l.id DESC LIMIT $6) AS n
UNION
SELECT o.id FROM (SELECT l.id FROM l ORDER BY l.id LIMIT 1) AS o
