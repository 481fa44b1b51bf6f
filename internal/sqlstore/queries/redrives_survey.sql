-- What is to be known about the letters of a plan, by handler and build; other unfinished redrives
-- may have them, too.
WITH others AS MATERIALIZED (
    SELECT o.id FROM {{schema}}.headrace_redrives AS o
    WHERE o.state IN ('running', 'paused') AND o.id <> $1
), entries AS (
    SELECT e.letter_id, e.state, (
        SELECT max(h.redrive_id) FROM others AS o
        JOIN {{schema}}.headrace_redrive_letters AS h ON h.redrive_id = o.id AND h.letter_id = e.letter_id
        WHERE h.state = 'queued'
    ) AS other
    FROM {{schema}}.headrace_redrive_letters AS e
    WHERE e.redrive_id = $1
)
SELECT COALESCE(l.handler, ''), COALESCE(l.build, ''), count(*), count(*) FILTER (WHERE l.redrives > 0), count(*) FILTER (WHERE l.class = 'crashed'),
    count(*) FILTER (WHERE substr(l.key, 1, 9) = 'stand-in:'), count(*) FILTER (WHERE l.class = 'conflict'),
    count(*) FILTER (WHERE EXISTS (
        SELECT 1 FROM {{schema}}.headrace_steps AS s
        WHERE s.scope = l.scope AND s.key = l.key AND l.class <> 'conflict' AND s.state = 'parked'
    )),
    count(*) FILTER (WHERE COALESCE(l.state, '') <> 'open'), count(*) FILTER (WHERE e.state = 'queued' AND COALESCE(l.state, '') <> 'open'),
    count(e.other) FILTER (WHERE l.state = 'open'), COALESCE(max(e.other), 0)
FROM entries AS e
LEFT JOIN {{schema}}.headrace_dead_letters AS l ON l.id = e.letter_id
GROUP BY 1, 2
ORDER BY 1, 2
