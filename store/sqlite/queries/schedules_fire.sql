-- A person asks for a tick, unless somebody has just done that.
UPDATE {{schema}}.headrace_schedules AS s SET fired_at = {{now}}, fired_by = $2
WHERE s.name = $1 AND (s.fired_at IS NULL OR s.fired_at <= {{now}} - $3)
