-- Every row of the backlog whose key is known is a message that waits.
SELECT count(*), COALESCE(min(b.scope || ' ' || b.key), '')
FROM {{schema}}.headrace_backlog AS b
LEFT JOIN {{schema}}.headrace_inbox AS i ON i.scope = b.scope AND i.key = b.key
WHERE b.key IS NOT NULL AND i.state IS DISTINCT FROM 'waiting' AND i.state IS DISTINCT FROM 'done'
