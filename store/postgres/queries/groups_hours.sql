-- How many letters of a group came in each hour, by build, with those not added up yet.
SELECT h.hour, h.build, sum(h.n)::bigint, min(h.first_at)
FROM (
    SELECT g.hour, g.build, g.n, g.first_at
    FROM {{schema}}.headrace_group_hours AS g
    WHERE g.consumer = $1 AND g.handler = $2 AND g.error_fingerprint = $3 AND g.hour > {{now}} - interval '35 days'
    UNION ALL
    SELECT date_trunc('hour', c.at, 'UTC'), c.build, c.opened, c.at
    FROM {{schema}}.headrace_letter_changes AS c
    WHERE c.consumer = $1 AND c.handler = $2 AND c.error_fingerprint = $3 AND c.opened > 0
) AS h
GROUP BY h.hour, h.build
ORDER BY h.hour, min(h.first_at), h.build
