-- A conflict has one letter for good, whatever became of it.
SELECT count(*), COALESCE(min(c.scope || ' ' || c.key), '')
FROM (
    SELECT scope, key FROM {{schema}}.headrace_dead_letters
    WHERE class = 'conflict'
    GROUP BY scope, key, fingerprint
    HAVING count(*) > 1
) AS c
