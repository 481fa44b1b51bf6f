-- Of each of some messages, the first step that needs a person: it is parked, or done without
-- the result that it has.
SELECT s.scope, s.key, min(s.step)
FROM json_each($1) AS c
CROSS JOIN {{schema}}.headrace_steps AS s ON s.scope = c.value ->> 0 AND s.key = c.value ->> 1
WHERE s.state = 'parked' OR s.state = 'done' AND s.result IS NULL AND s.error <> ''
GROUP BY s.scope, s.key
