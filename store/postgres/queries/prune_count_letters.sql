-- What prune_letters would remove of all letters: letters, and messages with them.
SELECT count(*), count(*) FILTER (WHERE l.state = 'open' AND l.class <> 'conflict')
FROM {{schema}}.headrace_dead_letters AS l
WHERE ($1::text = '' OR l.consumer = $1::text)
    AND CASE
        WHEN l.state = 'open' THEN $3::bigint > 0 AND l.changed_at < now() - $3::bigint * interval '1 microsecond'
        ELSE l.changed_at < now() - $2::bigint * interval '1 microsecond' AND NOT EXISTS (
            SELECT FROM {{schema}}.headrace_inbox AS i
            WHERE i.scope = l.scope AND i.key = l.key AND i.state IS DISTINCT FROM 'done' OFFSET 0
        )
    END
