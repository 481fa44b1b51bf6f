-- Only rows that are still where the caller saw them move. They are locked in the
-- order of keys that all share.
WITH due AS MATERIALIZED (
    SELECT i.scope, i.key
    FROM (
        SELECT c.scope, c.key FROM unnest($1::text[], $2::text[]) AS c (scope, key)
        ORDER BY c.scope COLLATE "C", c.key COLLATE "C"
    ) AS c
    CROSS JOIN LATERAL (
        SELECT r.scope, r.key FROM {{schema}}.headrace_inbox AS r
        WHERE r.scope = c.scope AND r.key = c.key AND r.state = $3
        FOR UPDATE
    ) AS i
)
UPDATE {{schema}}.headrace_inbox AS i SET state = $4, changed_at = clock_timestamp()
FROM due
WHERE i.scope = due.scope AND i.key = due.key AND i.state = $3
RETURNING i.scope, i.key
