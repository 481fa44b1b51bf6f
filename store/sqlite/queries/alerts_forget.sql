-- Deletes groups whose alerts could not be sent ($2 microseconds since their newest
-- alert), and those without an alert for long ($3).
DELETE FROM {{schema}}.headrace_alert_groups
WHERE consumer = $1
    AND (waiting > 0 AND at <= {{now}} - $2
        OR waiting = 0 AND tried_at <= {{now}} - $3)
