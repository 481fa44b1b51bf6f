-- Every discarded message has a discarded letter, or was redriven from under its stand-in
-- key.
SELECT count(*), COALESCE(min(i.scope || ' ' || i.key), '')
FROM {{schema}}.headrace_inbox AS i
WHERE i.state = 'discarded' AND NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.scope = i.scope AND l.key = i.key
        AND (l.state = 'discarded' OR l.state = 'redriven' AND substr(l.key, 1, 9) = 'stand-in:')
)
