-- Rows that were counted go.
DELETE FROM {{schema}}.headrace_alerts WHERE consumer = $1 AND id <= $2
