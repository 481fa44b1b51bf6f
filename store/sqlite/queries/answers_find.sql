-- The rows of some messages in the inbox, for those who wait for them.
SELECT i.scope, i.key, i.state, i.fingerprint, i.stale, i.changed_at
FROM json_each($1) AS c
CROSS JOIN {{schema}}.headrace_inbox AS i ON i.scope = c.value ->> 0 AND i.key = c.value ->> 1
