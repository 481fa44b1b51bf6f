-- What is old in a stretch, above ($1, $2) and up to ($3, $4). It reads beside the
-- writer: only what is found takes its turn.
SELECT i.scope, i.key
FROM {{schema}}.headrace_inbox AS i
WHERE (i.scope, i.key) > ($1, $2) AND (i.scope, i.key) <= ($3, $4)
    AND i.state IN ('done', 'discarded')
    AND i.changed_at < (SELECT {{now}}) - $5
    AND NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_backlog AS b WHERE b.scope = i.scope AND b.key = i.key)
    AND NOT EXISTS (
        SELECT 1 FROM {{schema}}.headrace_dead_letters AS l
        WHERE l.scope = i.scope AND l.key = i.key AND l.state = 'open'
    )
ORDER BY i.scope, i.key
LIMIT $6
