-- The letters of a filter in a window go onto the list of a redrive ($19), if they are open; and
-- what is to be known about them, by handler and build, as in redrives_survey. A letter's order
-- counts only where it is strict. All in one statement: it reads each letter once.
WITH others AS MATERIALIZED (
    SELECT o.id FROM {{schema}}.headrace_redrives AS o
    WHERE o.state IN ('running', 'paused') AND o.id <> $19::bigint
), chosen AS MATERIALIZED (
    SELECT l.id, l.rev, l.scope, l.key, CASE WHEN l.strict THEN l.order_key ELSE '' END AS order_key, l.handler, l.build, l.redrives, l.class
    FROM (
        {{letters_in_window}}
    ) AS l
    WHERE {{letters_chosen}}
        AND {{letters_hold}} AND l.state = 'open'
), listed AS (
    INSERT INTO {{schema}}.headrace_redrive_letters (redrive_id, letter_id, rev, state, scope, key, order_key)
    SELECT $19::bigint, c.id, c.rev, 'queued', c.scope, c.key, c.order_key FROM chosen AS c
)
SELECT c.handler, c.build, count(*), count(*) FILTER (WHERE c.redrives > 0), count(*) FILTER (WHERE c.class = 'crashed'),
    count(*) FILTER (WHERE substr(c.key, 1, 9) = 'stand-in:'), count(*) FILTER (WHERE c.class = 'conflict'),
    count(*) FILTER (WHERE s.parked), count(*) FILTER (WHERE s.unknown), 0, count(h.id), COALESCE(max(h.id), 0)
FROM chosen AS c
CROSS JOIN LATERAL (
    SELECT bool_or(s.state = 'parked') AS parked, bool_or(s.via = '') AS unknown
    FROM {{schema}}.headrace_steps AS s
    WHERE s.scope = c.scope AND s.key = c.key AND c.class <> 'conflict' AND s.state IN ('pending', 'parked')
) AS s
LEFT JOIN LATERAL (
    SELECT max(o.id) AS id FROM others AS o
    WHERE (SELECT e.state FROM {{schema}}.headrace_redrive_letters AS e WHERE e.redrive_id = o.id AND e.letter_id = c.id) = 'queued'
) AS h ON EXISTS (SELECT 1 FROM others)
GROUP BY c.handler, c.build
