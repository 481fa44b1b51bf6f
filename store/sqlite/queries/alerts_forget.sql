-- Groups go that nobody could pass on ($2 microseconds since their newest alert), and
-- those that have been silent for long ($3).
DELETE FROM {{schema}}.headrace_alert_groups
WHERE consumer = $1
    AND (waiting > 0 AND at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - $2
        OR waiting = 0 AND tried_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - $3)
