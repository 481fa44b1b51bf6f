-- Groups whose state time alone may change.
SELECT g.consumer, g.handler, g.error_fingerprint, g.class, g.state, g.state_at, g.open, g.total, g.first_at, g.last_at, g.first_build, g.last_build,
    g.first_letter, g.last_letter, g.sample, g.resolved_at, g.resolved_by, g.resolved_build,
    g.muted_until, COALESCE(g.muted_count, 0), g.muted_by, g.muted_anyway, g.assignee, g.note, g.link
FROM {{schema}}.headrace_groups AS g
WHERE g.state IN ('new', 'regressed') AND g.state_at <= (SELECT {{now}}) - interval '24 hours'
    OR g.state = 'escalating' OR g.open = 0 AND g.state <> 'resolved'
ORDER BY g.state_at, g.consumer, g.handler, g.error_fingerprint
LIMIT $1
FOR UPDATE
