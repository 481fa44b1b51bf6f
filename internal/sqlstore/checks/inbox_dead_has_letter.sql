-- Every dead message has exactly one open letter that is no conflict.
SELECT count(*), COALESCE(min(i.scope || ' ' || i.key), '')
FROM {{schema}}.headrace_inbox AS i
WHERE i.state = 'dead' AND (
    SELECT count(*) FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'open' AND l.class <> 'conflict' AND l.scope = i.scope AND l.key = i.key
) <> 1
