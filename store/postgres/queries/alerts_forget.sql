-- Deletes groups whose alerts could not be sent ($2 microseconds since their newest
-- alert), and those without an alert for long ($3). It returns how many alerts went with them.
WITH gone AS (
    DELETE FROM {{schema}}.headrace_alert_groups
    WHERE consumer = $1
        AND (waiting > 0 AND at <= (SELECT {{now}} - $2::bigint * interval '1 microsecond')
            OR waiting = 0 AND tried_at <= (SELECT {{now}} - $3::bigint * interval '1 microsecond'))
    RETURNING waiting
)
SELECT COALESCE(sum(gone.waiting), 0)::bigint FROM gone
