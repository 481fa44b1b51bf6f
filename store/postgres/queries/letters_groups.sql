-- Letters of a filter in a window by the reason that they failed for, with the newest as
-- sample. The window is of a source, as in letters_window.
SELECT g.error_fingerprint, g.consumer, g.handler, sample.class, g.n, g.first, g.last, sample.error, g.newest
FROM (
    SELECT l.error_fingerprint, l.consumer, l.handler, count(*) AS n,
        min(l.created_at) AS first, max(l.created_at) AS last, max(l.id) AS newest
    FROM (
        {{letters_in_window}}
    ) AS l
    WHERE {{letters_chosen}}
        AND {{letters_hold}}
    GROUP BY l.error_fingerprint, l.consumer, l.handler
) AS g
CROSS JOIN LATERAL (SELECT s.class, s.error FROM {{schema}}.headrace_dead_letters AS s WHERE s.id = g.newest LIMIT 1) AS sample
ORDER BY g.n DESC, g.newest DESC
