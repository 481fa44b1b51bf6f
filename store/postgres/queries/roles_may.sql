-- Whether this login has the rights of the role $2 of grants.sql on the tables of the schema $1: an operator
-- writes the audit, an admin changes letters, too, and a consumer takes requests.
SELECT COALESCE(bool_and(has_any_column_privilege(c.oid, CASE c.relname WHEN 'headrace_audit' THEN 'INSERT' ELSE 'UPDATE' END)), false)
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND (c.relname = 'headrace_audit' OR c.relname = 'headrace_dead_letters' AND $2 = 'admin' OR c.relname = 'headrace_requests' AND $2 = 'consumer')
