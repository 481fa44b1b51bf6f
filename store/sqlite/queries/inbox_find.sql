-- The rows of a key in every scope. The scopes are few and the rows many: it jumps
-- from scope to scope along the primary key.
WITH RECURSIVE scopes AS (
    SELECT min(scope) AS scope FROM {{schema}}.headrace_inbox
    UNION ALL
    SELECT (SELECT min(r.scope) FROM {{schema}}.headrace_inbox AS r WHERE r.scope > scopes.scope)
    FROM scopes
    WHERE scopes.scope IS NOT NULL
)
SELECT i.scope, i.key, i.state, i.fingerprint, i.stale, i.changed_at,
    COALESCE(b.status, ''), b.due_at, b.postponed_at, COALESCE(b.reason, '')
FROM scopes
CROSS JOIN {{schema}}.headrace_inbox AS i ON i.scope = scopes.scope AND i.key = $1
LEFT JOIN {{schema}}.headrace_backlog AS b ON b.scope = i.scope AND b.key = i.key
ORDER BY i.scope
