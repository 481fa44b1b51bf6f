-- When the oldest open letter of a consumer was written, and the oldest one whose group is not muted.
SELECT (
    SELECT l.created_at FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'open' AND l.consumer = $1 ORDER BY l.id LIMIT 1
), (
    SELECT l.created_at FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'open' AND l.consumer = $1 AND l.class <> 'cancelled' AND NOT EXISTS (
        SELECT 1 FROM {{schema}}.headrace_groups AS g
        WHERE g.consumer = l.consumer AND g.handler = l.handler AND g.error_fingerprint = l.error_fingerprint AND g.muted_by <> ''
            AND (g.muted_until IS NULL OR g.muted_until > {{now}}) AND (g.muted_count IS NULL OR g.muted_count = 0 OR g.total < g.muted_count)
    )
    ORDER BY l.id LIMIT 1
)
