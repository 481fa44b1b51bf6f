-- The scopes that have rows. They are few and the rows many: it jumps from scope to scope
-- along the primary key.
WITH RECURSIVE scopes AS (
    (SELECT scope FROM {{schema}}.headrace_inbox ORDER BY scope LIMIT 1)
    UNION ALL
    SELECT following.scope
    FROM scopes
    CROSS JOIN LATERAL (
        SELECT r.scope FROM {{schema}}.headrace_inbox AS r WHERE r.scope > scopes.scope ORDER BY r.scope LIMIT 1
    ) AS following
)
SELECT scope FROM scopes ORDER BY scope
