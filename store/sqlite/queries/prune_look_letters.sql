-- Letters above the id $1: closed ones go when they are old and their message is done
-- or gone, those of conflicts not before a message would go ($6); open ones only where
-- there is an age for them, and with the row of their message, unless they are conflicts,
-- whose key is another message's.
SELECT l.id, l.scope, l.key, l.state = 'open' AND l.class <> 'conflict'
FROM {{schema}}.headrace_dead_letters AS l
WHERE l.id > $1 AND ($2 = '' OR l.consumer = $2)
    AND CASE
        WHEN l.state = 'open' THEN $4 > 0 AND l.changed_at < (SELECT {{now}}) - $4
        ELSE l.changed_at < (SELECT {{now}}) - $3
            AND (l.class <> 'conflict' OR l.changed_at < (SELECT {{now}}) - $6)
            AND NOT EXISTS (
                SELECT 1 FROM {{schema}}.headrace_inbox AS i WHERE i.scope = l.scope AND i.key = l.key AND i.state <> 'done'
            )
    END
ORDER BY l.id
LIMIT $5
