-- A result, however long.
SELECT s.result FROM {{schema}}.headrace_steps AS s WHERE s.scope = $1 AND s.key = $2 AND s.step = $3
