-- No mark is of an instance that ended in order, or is not known.
SELECT count(*), COALESCE(min(m.instance), '')
FROM {{schema}}.headrace_marks AS m
LEFT JOIN {{schema}}.headrace_instances AS i ON i.id = m.instance
WHERE i.id IS NULL OR i.ended_at IS NOT NULL
