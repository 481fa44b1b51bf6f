-- A condition that is resolved has its end and one that fires has none, and what a sink took has its time.
SELECT count(*), COALESCE(min(c.kind || ' ' || c.key), '')
FROM {{schema}}.headrace_conditions AS c
WHERE c.state <> 'pending' AND (c.state = 'resolved') <> (c.ended_at IS NOT NULL) OR c.state NOT IN ('pending', 'firing', 'resolved')
    OR EXISTS (
        SELECT 1 FROM {{schema}}.headrace_sends AS s
        WHERE s.key = c.key AND (s.phase NOT IN ('', 'firing', 'again', 'resolved') OR (s.phase = '') <> (s.sent_at IS NULL))
    )
