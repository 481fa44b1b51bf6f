-- What would go of all letters: letters, and messages with them.
SELECT count(*), count(*) FILTER (WHERE l.state = 'open' AND l.class <> 'conflict')
FROM {{schema}}.headrace_dead_letters AS l
WHERE ($1 = '' OR l.consumer = $1)
    AND CASE
        WHEN l.state = 'open' THEN $3 > 0 AND l.changed_at < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - $3
        ELSE l.changed_at < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - $2 AND NOT EXISTS (
            SELECT 1 FROM {{schema}}.headrace_inbox AS i WHERE i.scope = l.scope AND i.key = l.key AND i.state <> 'done'
        )
    END
