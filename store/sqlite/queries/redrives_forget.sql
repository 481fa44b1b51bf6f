-- Old redrives without letters.
DELETE FROM {{schema}}.headrace_redrives AS r
WHERE r.consumer = $1 AND COALESCE(r.ended_at, CASE WHEN r.state IN ('preparing', 'planned') THEN r.planned_at END) < {{now}} - $2
    AND NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_redrive_letters AS e WHERE e.redrive_id = r.id)
