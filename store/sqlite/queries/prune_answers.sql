-- The answers of those of a list whose message has gone.
DELETE FROM {{schema}}.headrace_answers AS a
WHERE (a.scope, a.key) IN (SELECT c.value ->> 0, c.value ->> 1 FROM json_each($1) AS c)
    AND NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_inbox AS i WHERE i.scope = a.scope AND i.key = a.key)
