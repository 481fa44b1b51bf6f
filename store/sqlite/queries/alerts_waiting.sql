-- Whether a reader has something to do, without a write.
SELECT (
        EXISTS (SELECT 1 FROM {{schema}}.headrace_alerts AS a WHERE a.consumer = $1)
        OR EXISTS (
            SELECT 1 FROM {{schema}}.headrace_alert_groups AS g
            WHERE g.consumer = $1 AND g.waiting > 0 AND g.due_at <= {{now}}
        )
    )
    AND NOT EXISTS (
        SELECT 1 FROM {{schema}}.headrace_alert_readers AS r
        WHERE r.consumer = $1 AND r.owner <> $2 AND r.until > {{now}}
    )
