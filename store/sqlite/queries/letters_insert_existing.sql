-- The letters that were there already: the open one of a message, or a conflict's in
-- whatever state.
SELECT l.id, l.scope, l.key, l.fingerprint, l.class = 'conflict'
FROM json_each($1) AS u
CROSS JOIN {{schema}}.headrace_dead_letters AS l ON l.id = CASE WHEN u.value ->> 3 THEN (
    SELECT c.id FROM {{schema}}.headrace_dead_letters AS c
    WHERE c.class = 'conflict' AND c.scope = u.value ->> 0 AND c.key = u.value ->> 1 AND c.fingerprint = u.value ->> 2
) ELSE (
    SELECT o.id FROM {{schema}}.headrace_dead_letters AS o
    WHERE o.state = 'open' AND o.class <> 'conflict' AND o.scope = u.value ->> 0 AND o.key = u.value ->> 1 AND o.fingerprint = u.value ->> 2
) END
