-- How many letters of some groups, which are numbered from 1, came in each hour of the last day, by build,
-- with those not added up yet.
WITH chosen AS MATERIALIZED (
    SELECT c.value ->> 0 AS consumer, c.value ->> 1 AS handler, c.value ->> 2 AS error_fingerprint, c.key + 1 AS n FROM json_each($1) AS c
)
SELECT h.n, h.hour, h.build, sum(h.count), min(h.first_at)
FROM (
    SELECT chosen.n, g.hour, g.build, g.n AS count, g.first_at
    FROM chosen
    CROSS JOIN {{schema}}.headrace_group_hours AS g ON g.consumer = chosen.consumer AND g.handler = chosen.handler
        AND g.error_fingerprint = chosen.error_fingerprint AND g.hour > {{now}} - 25 * 3600000000
    UNION ALL
    SELECT chosen.n, c.at / 3600000000 * 3600000000, c.build, c.opened, c.at
    FROM {{schema}}.headrace_letter_changes AS c
    CROSS JOIN chosen ON c.consumer = chosen.consumer AND c.handler = chosen.handler AND c.error_fingerprint = chosen.error_fingerprint
    WHERE c.opened > 0
) AS h
GROUP BY h.n, h.hour, h.build
ORDER BY h.n, h.hour, min(h.first_at), h.build
