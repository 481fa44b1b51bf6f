-- What a walk would remove of all letters: letters, and messages with them. A letter
-- whose message was discarded goes as well where prune_messages takes that message
-- before it: with $4 for the window and $5 for what its scopes start with, as there.
SELECT count(*), count(*) FILTER (WHERE l.state = 'open' AND l.class <> 'conflict')
FROM {{schema}}.headrace_dead_letters AS l
WHERE ($1::text = '' OR l.consumer = $1::text)
    AND CASE
        WHEN l.state = 'open' THEN $3::bigint > 0 AND l.changed_at < (SELECT {{now}} - $3::bigint * interval '1 microsecond')
        ELSE l.changed_at < (SELECT {{now}} - $2::bigint * interval '1 microsecond')
            AND (l.class <> 'conflict' OR l.changed_at < (SELECT {{now}} - $4::bigint * interval '1 microsecond'))
            AND NOT EXISTS (
                SELECT FROM {{schema}}.headrace_inbox AS i
                WHERE i.scope = l.scope AND i.key = l.key AND i.state IS DISTINCT FROM 'done' AND NOT (
                    i.state = 'discarded'
                    AND i.changed_at < (SELECT {{now}} - $4::bigint * interval '1 microsecond')
                    AND starts_with(i.scope, $5)
                    AND NOT EXISTS (
                        SELECT FROM {{schema}}.headrace_backlog AS b WHERE b.scope = i.scope AND b.key = i.key OFFSET 0
                    )
                    AND NOT EXISTS (
                        SELECT FROM {{schema}}.headrace_dead_letters AS o
                        WHERE o.scope = i.scope AND o.key = i.key AND o.state = 'open' OFFSET 0
                    )
                )
                OFFSET 0
            )
    END
