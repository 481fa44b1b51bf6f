-- How many letters some builds have written since a plan for the reasons of its letters: the fix
-- does not work. The letters of the list were there before. A plus keeps SQLite from an index that
-- has all letters of a consumer.
SELECT COALESCE(sum(g.n), 0)
FROM (
    SELECT l.consumer, l.handler, l.error_fingerprint, count(*) AS n
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.id > (SELECT max(m.letter_id) FROM {{schema}}.headrace_redrive_letters AS m WHERE m.redrive_id = $1)
        AND l.created_at > (SELECT r.planned_at FROM {{schema}}.headrace_redrives AS r WHERE r.id = $1)
        AND l.consumer = (SELECT r.consumer FROM {{schema}}.headrace_redrives AS r WHERE r.id = $1)
        AND l.build IN (SELECT c.value FROM json_each($2) AS c)
    GROUP BY l.consumer, l.handler, l.error_fingerprint
) AS g
WHERE EXISTS (
    SELECT 1
    FROM {{schema}}.headrace_dead_letters AS o
    JOIN {{schema}}.headrace_redrive_letters AS e ON e.redrive_id = $1 AND e.letter_id = o.id
    WHERE o.state = 'open' AND o.error_fingerprint = g.error_fingerprint AND +o.handler = g.handler AND +o.consumer = g.consumer
)
