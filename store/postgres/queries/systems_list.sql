-- Every process with steps under way looks each second: there is one row for each system that
-- was ever paused.
SELECT s.system, (extract(epoch FROM s.paused_until - {{now}}) * 1000000)::bigint, s.paused_until, s.by_whom, s.reason, s.changed_at
FROM {{schema}}.headrace_systems AS s
ORDER BY s.system
