-- Instances that ended, or have not beaten, for long.
DELETE FROM {{schema}}.headrace_instances WHERE COALESCE(ended_at, beat_at) < (SELECT {{now}}) - $1
