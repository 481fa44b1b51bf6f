-- What prune_messages would remove of the whole table.
SELECT count(*)
FROM {{schema}}.headrace_inbox AS i
WHERE i.state IN ('done', 'discarded')
    AND i.changed_at < (SELECT {{now}} - $1::bigint * interval '1 microsecond')
    AND starts_with(i.scope, $2)
    AND NOT EXISTS (
        SELECT FROM {{schema}}.headrace_backlog AS b WHERE b.scope = i.scope AND b.key = i.key OFFSET 0
    )
    AND NOT EXISTS (
        SELECT FROM {{schema}}.headrace_dead_letters AS l
        WHERE l.scope = i.scope AND l.key = i.key AND l.state = 'open' OFFSET 0
    )
