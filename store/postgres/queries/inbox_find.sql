-- The rows of a key in every scope. The scopes are few and the rows many: it jumps
-- from scope to scope along the primary key.
WITH RECURSIVE scopes AS (
    (SELECT scope FROM {{schema}}.headrace_inbox ORDER BY scope LIMIT 1)
    UNION ALL
    SELECT following.scope
    FROM scopes
    CROSS JOIN LATERAL (
        SELECT r.scope FROM {{schema}}.headrace_inbox AS r WHERE r.scope > scopes.scope ORDER BY r.scope LIMIT 1
    ) AS following
)
SELECT i.scope, i.key, i.state, i.fingerprint, i.stale, i.changed_at,
    COALESCE(b.status, ''), b.due_at, b.postponed_at, COALESCE(b.reason, '')
FROM scopes
CROSS JOIN LATERAL (
    SELECT * FROM {{schema}}.headrace_inbox AS r WHERE r.scope = scopes.scope AND r.key = $1 LIMIT 1
) AS i
LEFT JOIN {{schema}}.headrace_backlog AS b ON b.scope = i.scope AND b.key = i.key
ORDER BY i.scope
