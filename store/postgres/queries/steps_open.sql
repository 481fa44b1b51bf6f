-- A step that keeps its message from being done: one that is open, or else one that may have done
-- something and whose name ($3) the handler does not know.
SELECT s.step, s.system, s.state
FROM {{schema}}.headrace_steps AS s
WHERE s.scope = $1 AND s.key = $2 AND s.state <> 'failed'
    AND (s.state IN ('pending', 'parked', 'awaiting') OR split_part(s.step, '/', 1) <> ALL ($3::text[]))
ORDER BY s.state IN ('pending', 'parked', 'awaiting') DESC, s.step
LIMIT 1
