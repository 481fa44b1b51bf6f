-- It ends in order, and runs nothing.
UPDATE {{schema}}.headrace_instances
SET ended_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, running_scope = '', running_key = '', running_at = NULL
WHERE id = $1
