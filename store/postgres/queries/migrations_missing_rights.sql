-- What the session's role may not do with headrace's tables in the schema $1: the rights, the
-- tables that it lacks these for, and whether those are all tables.
WITH lacks AS (
    SELECT c.relname::text AS name, (
        SELECT string_agg(r.name, ', ' ORDER BY r.place)
        FROM (VALUES (1, 'SELECT'), (2, 'INSERT'), (3, 'UPDATE'), (4, 'DELETE')) AS r (place, name)
        WHERE NOT has_table_privilege(c.oid, r.name)
    ) AS rights
    FROM pg_catalog.pg_class AS c
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname LIKE 'headrace\_%'
)
SELECT current_user::text, l.rights, string_agg(l.name, ', ' ORDER BY l.name), count(*) = (SELECT count(*) FROM lacks)
FROM lacks AS l
WHERE l.rights IS NOT NULL
GROUP BY l.rights
ORDER BY l.rights
