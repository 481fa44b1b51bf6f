-- Instances that ended, or have not beaten, for long.
DELETE FROM {{schema}}.headrace_instances WHERE COALESCE(ended_at, beat_at) < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - $1
