-- What would go of all letters: letters, and messages with them. A letter whose message
-- was discarded goes as well where prune_messages takes that message before it: with $4
-- for the window and $5 for what its scopes start with, as there.
SELECT count(*), count(*) FILTER (WHERE l.state = 'open' AND l.class <> 'conflict')
FROM {{schema}}.headrace_dead_letters AS l
WHERE ($1 = '' OR l.consumer = $1)
    AND CASE
        WHEN l.state = 'open' THEN $3 > 0 AND l.changed_at < (SELECT {{now}}) - $3
        ELSE l.changed_at < (SELECT {{now}}) - $2
            AND (l.class <> 'conflict' OR l.changed_at < (SELECT {{now}}) - $4)
            AND NOT EXISTS (
                SELECT 1 FROM {{schema}}.headrace_inbox AS i
                WHERE i.scope = l.scope AND i.key = l.key AND i.state <> 'done' AND NOT (
                    i.state = 'discarded'
                    AND i.changed_at < (SELECT {{now}}) - $4
                    AND substr(i.scope, 1, length($5)) = $5
                    AND NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_backlog AS b WHERE b.scope = i.scope AND b.key = i.key)
                    AND NOT EXISTS (
                        SELECT 1 FROM {{schema}}.headrace_dead_letters AS o
                        WHERE o.scope = i.scope AND o.key = i.key AND o.state = 'open'
                    )
                )
            )
    END
