-- How many alerts wait in groups that could not be sent ($2 microseconds since
-- their newest).
SELECT COALESCE(sum(g.waiting), 0) FROM {{schema}}.headrace_alert_groups AS g
WHERE g.consumer = $1 AND g.waiting > 0 AND g.at <= {{now}} - $2
