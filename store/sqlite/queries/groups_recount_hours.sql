-- The hours of groups that were not there.
INSERT INTO {{schema}}.headrace_group_hours (consumer, handler, error_fingerprint, hour, build, n, first_at)
SELECT l.consumer, l.handler, l.error_fingerprint, l.created_at / 3600000000 * 3600000000, l.build, count(*), min(l.created_at)
FROM {{schema}}.headrace_dead_letters AS l
WHERE l.class <> 'cancelled' AND l.created_at > (SELECT {{now}}) - 35 * 86400000000 AND NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_groups AS g
    WHERE g.consumer = l.consumer AND g.handler = l.handler AND g.error_fingerprint = l.error_fingerprint
)
GROUP BY 1, 2, 3, 4, 5
ON CONFLICT DO NOTHING
