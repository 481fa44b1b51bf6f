-- By primary key, and of columns without an index. One that was taken for dead is not.
UPDATE {{schema}}.headrace_instances SET beat_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, outlived_at = NULL WHERE id = $1
