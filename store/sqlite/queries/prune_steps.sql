-- The steps of those of a list whose message has gone.
DELETE FROM {{schema}}.headrace_steps AS s
WHERE (s.scope, s.key) IN (SELECT c.value ->> 0, c.value ->> 1 FROM json_each($1) AS c)
    AND NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_inbox AS i WHERE i.scope = s.scope AND i.key = s.key)
