-- Those of a list that are old still.
DELETE FROM {{schema}}.headrace_inbox AS i
WHERE (i.scope, i.key) IN (SELECT c.value ->> 0, c.value ->> 1 FROM json_each($1) AS c)
    AND i.state IN ('done', 'discarded')
    AND i.changed_at < (SELECT {{now}}) - $2
    AND NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_backlog AS b WHERE b.scope = i.scope AND b.key = i.key)
    AND NOT EXISTS (
        SELECT 1 FROM {{schema}}.headrace_dead_letters AS l
        WHERE l.scope = i.scope AND l.key = i.key AND l.state = 'open'
    )
