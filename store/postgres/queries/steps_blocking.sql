-- Of each of some messages, the first step that needs a person.
SELECT c.scope, c.key, s.step
FROM unnest($1::text[], $2::text[]) AS c (scope, key)
CROSS JOIN LATERAL (
    SELECT r.step FROM {{schema}}.headrace_steps AS r
    WHERE r.scope = c.scope AND r.key = c.key AND r.state = 'parked'
    ORDER BY r.step
    LIMIT 1
) AS s
