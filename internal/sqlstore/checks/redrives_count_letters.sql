-- The numbers of a redrive are those of its letters.
SELECT count(*), COALESCE(min('R-' || c.id), '')
FROM (
    SELECT r.id
    FROM {{schema}}.headrace_redrives AS r
    JOIN {{schema}}.headrace_redrive_letters AS e ON e.redrive_id = r.id
    WHERE r.state NOT IN ('preparing', 'done', 'cancelled')
    GROUP BY r.id
    HAVING r.count <> count(*)
        OR r.skipped <> count(*) FILTER (WHERE e.state = 'skipped')
        OR r.succeeded <> count(*) FILTER (WHERE e.state = 'succeeded')
        OR r.failed_again <> count(*) FILTER (WHERE e.state = 'failed')
        OR r.sent <> count(*) FILTER (WHERE e.state IN ('sent', 'succeeded', 'failed', 'unknown'))
) AS c
