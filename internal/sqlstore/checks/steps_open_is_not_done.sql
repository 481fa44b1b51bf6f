-- No message that is done or discarded has a step whose outcome is unknown or that waits for a person.
SELECT count(*), COALESCE(min(s.scope || ' ' || s.key || ' ' || s.step), '')
FROM {{schema}}.headrace_steps AS s
JOIN {{schema}}.headrace_inbox AS i ON i.scope = s.scope AND i.key = s.key
WHERE i.state IN ('done', 'discarded') AND s.state IN ('pending', 'parked')
