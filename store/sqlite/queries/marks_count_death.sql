-- A death is counted once, by the process that changes the row.
UPDATE {{schema}}.headrace_instances SET counted_at = {{now}}
WHERE id = $1 AND ended_at IS NULL AND counted_at IS NULL AND beat_at < (SELECT {{now}}) - $2
