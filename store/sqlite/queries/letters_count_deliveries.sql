-- Messages under stand-in keys came again.
UPDATE {{schema}}.headrace_dead_letters AS l SET deliveries = l.deliveries + came.n
FROM (
    SELECT c.value ->> 0 AS scope, c.value ->> 1 AS key, count(*) AS n FROM json_each($1) AS c GROUP BY 1, 2
) AS came
WHERE l.key = came.key AND l.scope = came.scope AND l.class <> 'conflict'
