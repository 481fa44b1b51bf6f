-- A process makes the ticks of the schedule as it is.
UPDATE {{schema}}.headrace_schedules AS s SET seen_at = {{now}} WHERE s.name = $1 AND s.cron = $2 AND s.zone = $3
