-- The leases that are still held, and whether they end later now. A row that is locked
-- is held still as far as this statement can see, but cannot be changed: it is being
-- committed under its lease, or is being taken over.
WITH asked AS MATERIALIZED (
    SELECT u.scope, u.key, u.token FROM unnest($1::text[], $2::text[], $3::text[]) AS u (scope, key, token)
), free AS MATERIALIZED (
    SELECT r.scope, r.key
    FROM asked AS a
    CROSS JOIN LATERAL (
        SELECT b.scope, b.key FROM {{schema}}.headrace_backlog AS b
        WHERE b.scope = a.scope AND b.key = a.key AND b.line = 'leased' AND b.token = a.token
        FOR UPDATE SKIP LOCKED
    ) AS r
), extended AS (
    UPDATE {{schema}}.headrace_backlog AS b SET due_at = clock_timestamp() + $4::bigint * interval '1 microsecond'
    FROM free
    WHERE b.scope = free.scope AND b.key = free.key
    RETURNING b.scope, b.key
)
SELECT a.scope, a.key, a.token, e.key IS NOT NULL
FROM asked AS a
CROSS JOIN LATERAL (
    SELECT FROM {{schema}}.headrace_backlog AS b
    WHERE b.scope = a.scope AND b.key = a.key AND b.line = 'leased' AND b.token = a.token
    LIMIT 1
) AS held
LEFT JOIN extended AS e ON e.scope = a.scope AND e.key = a.key
