-- An instance that was counted as dead runs after all.
UPDATE {{schema}}.headrace_instances SET beat_at = {{now}}, counted_at = NULL
WHERE id = $1 AND ended_at IS NULL AND counted_at IS NOT NULL
