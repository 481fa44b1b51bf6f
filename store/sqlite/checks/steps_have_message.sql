-- Every step belongs to a message that the inbox knows.
SELECT count(*), COALESCE(min(s.scope || ' ' || s.key || ' ' || s.step), '')
FROM {{schema}}.headrace_steps AS s
WHERE NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_inbox AS i WHERE i.scope = s.scope AND i.key = s.key
)
