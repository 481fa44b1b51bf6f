-- What is to be known about the letters that redrives_add has put onto a list in the same
-- transaction, by handler and build, as in redrives_survey.
WITH others AS MATERIALIZED (
    SELECT o.id FROM {{schema}}.headrace_redrives AS o
    WHERE o.state IN ('running', 'paused') AND o.id <> $19
)
SELECT c.handler, c.build, count(*), count(*) FILTER (WHERE c.redrives > 0), count(*) FILTER (WHERE c.class = 'crashed'),
    count(*) FILTER (WHERE substr(c.key, 1, 9) = 'stand-in:'), count(*) FILTER (WHERE c.class = 'conflict'),
    count(*) FILTER (WHERE EXISTS (
        SELECT 1 FROM {{schema}}.headrace_steps AS s
        WHERE s.scope = c.scope AND s.key = c.key AND c.class <> 'conflict' AND s.state = 'parked'
    )),
    count(*) FILTER (WHERE EXISTS (
        SELECT 1 FROM {{schema}}.headrace_steps AS s
        WHERE s.scope = c.scope AND s.key = c.key AND c.class <> 'conflict' AND s.state IN ('pending', 'parked') AND s.via = ''
    )), 0, count(c.other), COALESCE(max(c.other), 0)
FROM (
    SELECT l.handler, l.build, l.redrives, l.class, l.scope, l.key, (
        SELECT max(o.id) FROM others AS o
        WHERE (SELECT e.state FROM {{schema}}.headrace_redrive_letters AS e WHERE e.redrive_id = o.id AND e.letter_id = l.id) = 'queued'
    ) AS other
    FROM (
        {{letters_in_window}}
    ) AS l
    WHERE {{letters_chosen}}
        AND {{letters_hold}} AND l.state = 'open'
) AS c
GROUP BY c.handler, c.build
