-- How many alerts wait in groups that nobody could pass on ($2 microseconds since
-- their newest).
SELECT COALESCE(sum(g.waiting), 0) FROM {{schema}}.headrace_alert_groups AS g
WHERE g.consumer = $1 AND g.waiting > 0 AND g.at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - $2
