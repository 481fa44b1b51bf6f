-- The attempts of a message count from 1 without gaps.
SELECT count(*), COALESCE(min(a.scope || ' ' || a.key), '')
FROM (
    SELECT scope, key FROM {{schema}}.headrace_attempts GROUP BY scope, key HAVING min(n) <> 1 OR max(n) <> count(*)
) AS a
