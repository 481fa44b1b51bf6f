-- The scopes that have rows. They are few and the rows many: it jumps from scope to scope
-- along the primary key.
WITH RECURSIVE scopes AS (
    SELECT min(scope) AS scope FROM {{schema}}.headrace_inbox
    UNION ALL
    SELECT (SELECT min(r.scope) FROM {{schema}}.headrace_inbox AS r WHERE r.scope > scopes.scope)
    FROM scopes
    WHERE scopes.scope IS NOT NULL
)
SELECT scope FROM scopes WHERE scope IS NOT NULL ORDER BY scope
