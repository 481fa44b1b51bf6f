-- Every open letter that is no conflict is of a dead message.
SELECT count(*), COALESCE(min(l.id), '')
FROM {{schema}}.headrace_dead_letters AS l
LEFT JOIN {{schema}}.headrace_inbox AS i ON i.scope = l.scope AND i.key = l.key
WHERE l.state = 'open' AND l.class <> 'conflict' AND i.state IS DISTINCT FROM 'dead'
