-- A schedule, and the time.
SELECT s.name, s.cron, s.zone, s.within, s.since, s.seen_at, s.fired_at, s.fired_by, s.checked_to, COALESCE(s.missing, -1), s.gap_from, s.gap_to, {{now}} FROM {{schema}}.headrace_schedules AS s WHERE s.name = $1
