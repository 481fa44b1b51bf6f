-- Every discarded message has a discarded letter.
SELECT count(*), COALESCE(min(i.scope || ' ' || i.key), '')
FROM {{schema}}.headrace_inbox AS i
WHERE i.state = 'discarded' AND NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'discarded' AND l.scope = i.scope AND l.key = i.key
)
