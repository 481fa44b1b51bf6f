-- It ends in order, and runs nothing.
UPDATE {{schema}}.headrace_instances
SET ended_at = clock_timestamp(), running_scope = '', running_key = '', running_at = NULL
WHERE id = $1
