-- The newest open letters that $1 to $5 choose, $6 at most, and the oldest one. The letters of
-- one reason are compared as (error_fingerprint, id), which is what their index is sorted by.
WITH l AS NOT MATERIALIZED (
    SELECT d.id, d.error_fingerprint
    FROM {{schema}}.headrace_dead_letters AS d
    WHERE d.state = 'open'
        AND ($1::text = '' OR d.consumer = $1::text)
        AND ($2::text = '' OR d.handler = $2::text)
        AND ($3::text = '' OR d.topic = $3::text)
        AND ($4::text = '' OR d.class = $4::text)
        AND ($5::text = '' OR (d.error_fingerprint, d.id) > ($5::text, 0) AND (d.error_fingerprint, d.id) <= ($5::text, 9223372036854775807))
)
(SELECT l.id FROM l ORDER BY CASE WHEN $5::text <> '' THEN l.error_fingerprint END DESC, l.id DESC LIMIT $6)
UNION
(SELECT l.id FROM l ORDER BY CASE WHEN $5::text <> '' THEN l.error_fingerprint END, l.id LIMIT 1)
