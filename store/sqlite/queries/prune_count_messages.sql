-- What prune_messages would remove of the scopes that start with $2.
SELECT count(*)
FROM {{schema}}.headrace_inbox AS i
WHERE substr(i.scope, 1, length($2)) = $2
    AND i.state IN ('done', 'discarded')
    AND i.changed_at < (SELECT {{now}}) - $1
    AND NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_backlog AS b WHERE b.scope = i.scope AND b.key = i.key)
    AND NOT EXISTS (
        SELECT 1 FROM {{schema}}.headrace_dead_letters AS l
        WHERE l.scope = i.scope AND l.key = i.key AND l.state = 'open'
    )
