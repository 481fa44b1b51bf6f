-- Counters are what the letters say. What is known only from earlier letters stays.
INSERT INTO {{schema}}.headrace_groups AS g
    (consumer, handler, error_fingerprint, class, state, state_at, open, total, first_at, last_at, first_build, last_build, first_letter, last_letter, sample)
SELECT l.consumer, l.handler, l.error_fingerprint, newest.class, CASE WHEN oldest.created_at > (SELECT {{now}}) - interval '24 hours' THEN 'new' ELSE 'ongoing' END, oldest.created_at,
    l.open, l.total, oldest.created_at, newest.created_at, oldest.build, newest.build, oldest.id, newest.id, left(newest.error, 500)
FROM (
    SELECT s.consumer, s.handler, s.error_fingerprint, count(*) FILTER (WHERE s.state = 'open') AS open, count(*) AS total, min(s.id) AS oldest, max(s.id) AS newest
    FROM {{schema}}.headrace_dead_letters AS s
    WHERE s.class <> 'cancelled'
    GROUP BY s.consumer, s.handler, s.error_fingerprint
) AS l
JOIN {{schema}}.headrace_dead_letters AS oldest ON oldest.id = l.oldest
JOIN {{schema}}.headrace_dead_letters AS newest ON newest.id = l.newest
WHERE true
ON CONFLICT (consumer, handler, error_fingerprint) DO UPDATE SET open = excluded.open, total = GREATEST(g.total, excluded.total),
    last_at = excluded.last_at, last_build = excluded.last_build, last_letter = excluded.last_letter, class = excluded.class, sample = excluded.sample,
    first_at = CASE WHEN g.first_letter = 0 THEN excluded.first_at ELSE g.first_at END,
    first_build = CASE WHEN g.first_letter = 0 THEN excluded.first_build ELSE g.first_build END,
    first_letter = CASE WHEN g.first_letter = 0 THEN excluded.first_letter ELSE g.first_letter END
