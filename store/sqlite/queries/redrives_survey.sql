-- What is to be known about the letters of a plan, by handler.
SELECT COALESCE(l.handler, ''), count(*), count(*) FILTER (WHERE l.redrives > 0), count(*) FILTER (WHERE l.class = 'crashed'),
    count(*) FILTER (WHERE substr(l.key, 1, 9) = 'stand-in:'), count(*) FILTER (WHERE l.class = 'conflict'),
    count(*) FILTER (WHERE EXISTS (
        SELECT 1 FROM {{schema}}.headrace_steps AS s
        WHERE s.scope = l.scope AND s.key = l.key AND l.class <> 'conflict' AND s.state = 'parked'
    )),
    count(*) FILTER (WHERE COALESCE(l.state, '') <> 'open')
FROM {{schema}}.headrace_redrive_letters AS e
LEFT JOIN {{schema}}.headrace_dead_letters AS l ON l.id = e.letter_id
WHERE e.redrive_id = $1
GROUP BY 1
ORDER BY 1
