-- How many groups were tried within the last minute, and the time.
SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, (
    SELECT count(*) FROM {{schema}}.headrace_alert_groups AS g
    WHERE g.consumer = $1 AND g.tried_at > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - 60000000
)
