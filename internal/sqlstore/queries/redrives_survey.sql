-- What is to be known about the first $2 queued letters of a redrive, by handler and build; other
-- unfinished redrives may have them, too: a join with their lists was read from end to end for each letter.
WITH others AS MATERIALIZED (
    SELECT o.id FROM {{schema}}.headrace_redrives AS o
    WHERE o.state IN ('running', 'paused') AND o.id <> $1
), entries AS (
    SELECT e.letter_id, (
        SELECT max(o.id) FROM others AS o
        WHERE (SELECT h.state FROM {{schema}}.headrace_redrive_letters AS h WHERE h.redrive_id = o.id AND h.letter_id = e.letter_id) = 'queued'
    ) AS other
    FROM {{schema}}.headrace_redrive_letters AS e
    WHERE e.redrive_id = $1 AND e.state = 'queued'
    ORDER BY e.letter_id
    LIMIT $2
)
SELECT COALESCE(l.handler, ''), COALESCE(l.build, ''), count(*), count(*) FILTER (WHERE l.redrives > 0), count(*) FILTER (WHERE l.class = 'crashed'),
    count(*) FILTER (WHERE substr(l.key, 1, 9) = 'stand-in:'), count(*) FILTER (WHERE l.class = 'conflict'),
    count(*) FILTER (WHERE EXISTS (
        SELECT 1 FROM {{schema}}.headrace_steps AS s
        WHERE s.scope = l.scope AND s.key = l.key AND l.class <> 'conflict' AND s.state = 'parked'
    )),
    count(*) FILTER (WHERE EXISTS (
        SELECT 1 FROM {{schema}}.headrace_steps AS s
        WHERE s.scope = l.scope AND s.key = l.key AND l.class <> 'conflict' AND s.state IN ('pending', 'parked') AND s.via = ''
    )),
    count(*) FILTER (WHERE COALESCE(l.state, '') <> 'open'), count(chosen.other) FILTER (WHERE l.state = 'open'), COALESCE(max(chosen.other), 0)
FROM entries AS chosen
LEFT JOIN {{schema}}.headrace_dead_letters AS l ON l.id = chosen.letter_id
GROUP BY 1, 2
ORDER BY 1, 2
