-- A process makes the ticks of a schedule. With another expression or zone it begins anew: its
-- own past is none of the new one's.
INSERT INTO {{schema}}.headrace_schedules AS s (name, cron, zone, since) VALUES ($1, $2, $3, {{now}})
ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, zone = excluded.zone, since = excluded.since
WHERE s.cron <> excluded.cron OR s.zone <> excluded.zone
