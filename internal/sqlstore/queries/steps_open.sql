-- A step that keeps its message from being done.
SELECT s.step, s.system, s.state
FROM {{schema}}.headrace_steps AS s
WHERE s.scope = $1 AND s.key = $2 AND s.state IN ('pending', 'parked', 'awaiting')
ORDER BY s.step
LIMIT 1
