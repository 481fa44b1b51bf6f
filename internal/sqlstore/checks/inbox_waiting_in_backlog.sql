-- Every waiting message has its row in the backlog.
SELECT count(*), COALESCE(min(i.scope || ' ' || i.key), '')
FROM {{schema}}.headrace_inbox AS i
LEFT JOIN {{schema}}.headrace_backlog AS b ON b.scope = i.scope AND b.key = i.key
WHERE i.state = 'waiting' AND b.scope IS NULL
