-- The rows of some messages in the inbox, for those who wait for them.
SELECT i.scope, i.key, i.state, i.fingerprint, i.stale, i.changed_at
FROM unnest($1::text[], $2::text[]) AS c (scope, key)
CROSS JOIN LATERAL (
    SELECT * FROM {{schema}}.headrace_inbox AS r WHERE r.scope = c.scope AND r.key = c.key LIMIT 1
) AS i
