-- Of each of some messages, a step that keeps it from being done: one that is open, or else one that may have
-- done something and whose name ($3) the handler does not know.
SELECT c.scope, c.key, s.step, s.system, s.state
FROM unnest($1::text[], $2::text[]) AS c (scope, key)
CROSS JOIN LATERAL (
    SELECT r.step, r.system, r.state FROM {{schema}}.headrace_steps AS r
    WHERE r.scope = c.scope AND r.key = c.key AND r.state <> 'failed'
        AND (r.state IN ('pending', 'parked', 'awaiting') OR split_part(r.step, '/', 1) <> ALL ($3::text[]))
    ORDER BY r.state IN ('pending', 'parked', 'awaiting') DESC, r.step
    LIMIT 1
) AS s
