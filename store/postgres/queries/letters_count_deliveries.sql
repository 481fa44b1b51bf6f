-- Messages under stand-in keys came again. Their letters are locked in an order that all
-- callers share.
WITH came AS MATERIALIZED (
    SELECT u.scope, u.key, count(*) AS n FROM unnest($1::text[], $2::text[]) AS u (scope, key) GROUP BY u.scope, u.key
), due AS MATERIALIZED (
    SELECT l.id, l.scope, l.key
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.key = ANY ($2::text[]) AND l.class <> 'conflict'
    ORDER BY l.id
    FOR UPDATE
)
UPDATE {{schema}}.headrace_dead_letters AS l SET deliveries = l.deliveries + came.n
FROM due JOIN came ON came.scope = due.scope AND came.key = due.key
WHERE l.id = due.id
