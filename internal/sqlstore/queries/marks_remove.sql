-- A worker runs nothing.
DELETE FROM {{schema}}.headrace_marks WHERE instance = $1 AND worker = $2
