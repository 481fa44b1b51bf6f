-- Of each of some messages, the first step that needs a person.
SELECT s.scope, s.key, min(s.step)
FROM json_each($1) AS c
CROSS JOIN {{schema}}.headrace_steps AS s ON s.scope = c.value ->> 0 AND s.key = c.value ->> 1
WHERE s.state = 'parked'
GROUP BY s.scope, s.key
