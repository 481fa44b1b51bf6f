-- Rows that were worked off.
DELETE FROM {{schema}}.headrace_backlog WHERE id IN (SELECT r.value FROM json_each($1) AS r)
