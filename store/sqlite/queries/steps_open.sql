-- A step that keeps its message from being done: one that is open, or else one that may have done
-- something and whose name ($3) the handler does not know.
SELECT s.step, s.system, s.state
FROM {{schema}}.headrace_steps AS s
WHERE s.scope = $1 AND s.key = $2 AND s.state <> 'failed'
    AND (s.state IN ('pending', 'parked', 'awaiting') OR substr(s.step, 1, instr(s.step || '/', '/') - 1) NOT IN (SELECT n.value FROM json_each($3) AS n))
ORDER BY s.state IN ('pending', 'parked', 'awaiting') DESC, s.step
LIMIT 1
