-- By primary key, and of columns without an index. One that was counted as dead is not.
UPDATE {{schema}}.headrace_instances SET beat_at = {{now}}, counted_at = NULL WHERE id = $1
