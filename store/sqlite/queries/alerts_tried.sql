-- How many groups were tried within the last minute, and the time.
SELECT {{now}}, (
    SELECT count(*) FROM {{schema}}.headrace_alert_groups AS g
    WHERE g.consumer = $1 AND g.tried_at > {{now}} - 60000000
)
