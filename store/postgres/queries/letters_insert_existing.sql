-- The letters that were there already: the open one of a message, or a conflict's in
-- whatever state ($4).
SELECT l.id, l.scope, l.key, l.fingerprint, l.class = 'conflict'
FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[]) AS u (scope, key, fingerprint, conflict)
CROSS JOIN LATERAL (
    SELECT o.* FROM {{schema}}.headrace_dead_letters AS o
    WHERE NOT u.conflict AND o.state = 'open' AND o.class <> 'conflict'
        AND o.scope = u.scope AND o.key = u.key AND o.fingerprint = u.fingerprint
    UNION ALL
    SELECT c.* FROM {{schema}}.headrace_dead_letters AS c
    WHERE u.conflict AND c.class = 'conflict' AND c.scope = u.scope AND c.key = u.key AND c.fingerprint = u.fingerprint
) AS l
