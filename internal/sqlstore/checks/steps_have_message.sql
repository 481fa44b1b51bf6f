-- Every step belongs to a message that the inbox knows, unless it is a signal that came before its message.
SELECT count(*), COALESCE(min(s.scope || ' ' || s.key || ' ' || s.step), '')
FROM {{schema}}.headrace_steps AS s
WHERE NOT (s.system = '' AND s.settled_at IS NOT NULL) AND NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_inbox AS i WHERE i.scope = s.scope AND i.key = s.key
)
