-- The rows of messages whose open letters go.
DELETE FROM {{schema}}.headrace_inbox AS i
WHERE (i.scope, i.key) IN (SELECT c.value ->> 0, c.value ->> 1 FROM json_each($1) AS c) AND i.state = 'dead'
