-- Of each of some messages, a step that keeps it from being done: one that is open, or else one that may have
-- done something and whose name ($2) the handler does not know.
SELECT s.scope, s.key, s.step, s.system, s.state
FROM json_each($1) AS c
CROSS JOIN {{schema}}.headrace_steps AS s ON s.scope = c.value ->> 0 AND s.key = c.value ->> 1 AND s.step = (
    SELECT r.step FROM {{schema}}.headrace_steps AS r
    WHERE r.scope = c.value ->> 0 AND r.key = c.value ->> 1 AND r.state <> 'failed'
        AND (r.state IN ('pending', 'parked', 'awaiting')
            OR substr(r.step, 1, instr(r.step || '/', '/') - 1) NOT IN (SELECT n.value FROM json_each($2) AS n))
    ORDER BY r.state IN ('pending', 'parked', 'awaiting') DESC, r.step
    LIMIT 1
)
