-- A version is remembered if it is newer; no row otherwise. The row is locked either
-- way, so that of two transactions the second compares with what the first committed.
INSERT INTO {{schema}}.headrace_versions AS v (scope, entity, version, changed_at)
VALUES ($1, $2, $3, {{now}})
ON CONFLICT (scope, entity) DO UPDATE SET version = excluded.version, changed_at = excluded.changed_at
WHERE v.version < excluded.version
