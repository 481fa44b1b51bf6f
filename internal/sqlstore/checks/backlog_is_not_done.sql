-- No message that is done has a row in the backlog.
SELECT count(*), COALESCE(min(b.scope || ' ' || b.key), '')
FROM {{schema}}.headrace_backlog AS b
JOIN {{schema}}.headrace_inbox AS i ON i.scope = b.scope AND i.key = b.key
WHERE i.state = 'done'
