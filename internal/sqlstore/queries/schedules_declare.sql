-- A process makes the ticks of a schedule. With another expression or zone it begins anew: its
-- own past is none of the new one's.
INSERT INTO {{schema}}.headrace_schedules AS s (name, cron, zone, within, since) VALUES ($1, $2, $3, $4, {{now}})
ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, zone = excluded.zone, within = excluded.within,
    since = CASE WHEN s.cron <> excluded.cron OR s.zone <> excluded.zone THEN excluded.since ELSE s.since END
WHERE s.cron <> excluded.cron OR s.zone <> excluded.zone OR s.within <> excluded.within
