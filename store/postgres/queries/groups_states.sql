-- How many groups of a consumer have open letters, by state, and how old the oldest open letter of
-- each state is, in µs. Changes that are not added up yet are left out: a scrape asks.
SELECT g.state, count(*), COALESCE((EXTRACT(EPOCH FROM {{now}} - min((
        SELECT l.created_at
        FROM {{schema}}.headrace_dead_letters AS l
        WHERE l.error_fingerprint = g.error_fingerprint AND l.state = 'open' AND l.consumer = g.consumer AND l.handler = g.handler
        ORDER BY l.id
        LIMIT 1
    ))) * 1000000)::bigint, 0)
FROM {{schema}}.headrace_groups AS g
WHERE g.consumer = $1::text AND g.open > 0
GROUP BY g.state
