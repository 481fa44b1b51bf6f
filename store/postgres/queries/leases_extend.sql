-- The leases that are still held, and whether they end later now. A row that is locked
-- is still held as far as this statement can see, but cannot be changed: it is being
-- committed under its lease, or is being taken over. The lock that Block takes does not
-- matter.
WITH asked AS MATERIALIZED (
    SELECT u.id, u.token FROM unnest($1::bigint[], $2::text[]) AS u (id, token)
), free AS MATERIALIZED (
    SELECT r.id
    FROM asked AS a
    CROSS JOIN LATERAL (
        SELECT b.id FROM {{schema}}.headrace_backlog AS b
        WHERE b.id = a.id AND b.status = 'leased' AND b.token = a.token
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS r
), extended AS (
    UPDATE {{schema}}.headrace_backlog AS b SET due_at = {{now}} + $3::bigint * interval '1 microsecond'
    FROM free
    WHERE b.id = free.id
    RETURNING b.id
)
SELECT a.id, a.token, e.id IS NOT NULL
FROM asked AS a
CROSS JOIN LATERAL (
    SELECT FROM {{schema}}.headrace_backlog AS b
    WHERE b.id = a.id AND b.status = 'leased' AND b.token = a.token
    LIMIT 1
) AS held
LEFT JOIN extended AS e ON e.id = a.id
