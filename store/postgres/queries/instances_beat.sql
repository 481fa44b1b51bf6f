-- By primary key, and of columns without an index. One that was taken for dead is not.
UPDATE {{schema}}.headrace_instances SET beat_at = clock_timestamp(), outlived_at = NULL WHERE id = $1
