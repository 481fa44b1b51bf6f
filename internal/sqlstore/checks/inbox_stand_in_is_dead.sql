-- A message under a stand-in key is dead or discarded: it is never applied under that key.
SELECT count(*), COALESCE(min(i.scope || ' ' || i.key), '')
FROM {{schema}}.headrace_inbox AS i
WHERE substr(i.key, 1, 9) = 'stand-in:' AND i.state NOT IN ('dead', 'discarded')
