-- How many letters of some groups, which are numbered from 1, came in each hour of the last day, by build,
-- with those not added up yet.
WITH chosen AS (
    SELECT c.consumer, c.handler, c.error_fingerprint, c.n
    FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS c (consumer, handler, error_fingerprint, n)
)
SELECT h.n, h.hour, h.build, sum(h.count)::bigint, min(h.first_at)
FROM (
    SELECT chosen.n, g.hour, g.build, g.n AS count, g.first_at
    FROM chosen
    JOIN {{schema}}.headrace_group_hours AS g ON g.consumer = chosen.consumer AND g.handler = chosen.handler
        AND g.error_fingerprint = chosen.error_fingerprint AND g.hour > (SELECT {{now}} - interval '25 hours')
    UNION ALL
    SELECT chosen.n, date_trunc('hour', c.at, 'UTC'), c.build, c.opened, c.at
    FROM {{schema}}.headrace_letter_changes AS c
    JOIN chosen ON c.consumer = chosen.consumer AND c.handler = chosen.handler AND c.error_fingerprint = chosen.error_fingerprint
    WHERE c.opened > 0
) AS h
GROUP BY h.n, h.hour, h.build
ORDER BY h.n, h.hour, min(h.first_at), h.build
