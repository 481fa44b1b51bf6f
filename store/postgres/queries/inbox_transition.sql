-- Only rows that are still where the caller saw them move. They are locked in the
-- order of keys that all share. The id of the transaction rides along. IS NOT DISTINCT
-- FROM keeps the planner, on stale statistics, from the index of rows that are not
-- done, which would be read once for each key. The first SELECT hides the array's size, for
-- which the server would plan the statement each time; the LIMIT tells it that there are few.
WITH due AS MATERIALIZED (
    SELECT i.scope, i.key
    FROM (
        SELECT u.scope, u.key FROM unnest((SELECT $1::text[]), $2::text[]) AS u (scope, key)
        ORDER BY u.scope COLLATE "C", u.key COLLATE "C"
        LIMIT (SELECT cardinality($1::text[]))
    ) AS c
    CROSS JOIN LATERAL (
        SELECT r.scope, r.key FROM {{schema}}.headrace_inbox AS r
        WHERE r.scope = c.scope AND r.key = c.key AND r.state IS NOT DISTINCT FROM $3
        FOR UPDATE
    ) AS i
), moved AS (
    UPDATE {{schema}}.headrace_inbox AS i SET state = $4, changed_at = {{now}}
    FROM due
    WHERE i.scope = due.scope AND i.key = due.key AND i.state IS NOT DISTINCT FROM $3
    RETURNING i.scope, i.key
), here AS MATERIALIZED (
    SELECT pg_current_xact_id()::text AS id
)
SELECT here.id, moved.scope, moved.key FROM here LEFT JOIN moved ON true
