-- A message that waits for a signal is in the backlog, dead or given up.
SELECT count(*), COALESCE(min(s.scope || ' ' || s.key || ' ' || s.step), '')
FROM {{schema}}.headrace_steps AS s
JOIN {{schema}}.headrace_inbox AS i ON i.scope = s.scope AND i.key = s.key
WHERE s.state = 'awaiting' AND i.state NOT IN ('waiting', 'dead', 'discarded')
