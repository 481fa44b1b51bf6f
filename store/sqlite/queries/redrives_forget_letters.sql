-- Letters of old redrives.
DELETE FROM {{schema}}.headrace_redrive_letters AS e
WHERE (e.redrive_id, e.letter_id) IN (
    SELECT o.redrive_id, o.letter_id
    FROM {{schema}}.headrace_redrives AS r
    JOIN {{schema}}.headrace_redrive_letters AS o ON o.redrive_id = r.id
    WHERE r.consumer = $1 AND COALESCE(r.ended_at, CASE WHEN r.state IN ('preparing', 'planned') THEN r.planned_at END) < {{now}} - $2
    LIMIT $3
)
