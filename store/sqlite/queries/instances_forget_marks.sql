-- The marks of instances that are gone.
DELETE FROM {{schema}}.headrace_marks AS m
WHERE NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_instances AS i WHERE i.id = m.instance)
