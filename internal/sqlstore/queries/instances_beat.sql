-- By primary key, and of columns without an index. One that was counted as dead is not.
UPDATE {{schema}}.headrace_instances SET beat_at = {{now}}, counted_at = NULL, rate = $2, p50_us = $3 WHERE id = $1
