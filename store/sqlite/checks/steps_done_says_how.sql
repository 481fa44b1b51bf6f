-- A step that is done says how that became known, and no other does.
SELECT count(*), COALESCE(min(s.scope || ' ' || s.key || ' ' || s.step), '')
FROM {{schema}}.headrace_steps AS s
WHERE (s.state = 'done') <> (s.via <> '')
