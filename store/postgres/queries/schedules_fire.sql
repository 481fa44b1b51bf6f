-- A person asks for a tick, unless another one has asked since the row was read ($3).
UPDATE {{schema}}.headrace_schedules AS s SET fired_at = {{now}}, fired_by = $2
WHERE s.name = $1 AND s.fired_at IS NOT DISTINCT FROM $3::timestamptz
