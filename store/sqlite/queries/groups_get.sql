-- Groups by their names.
SELECT g.consumer, g.handler, g.error_fingerprint, g.class, g.state, g.state_at, g.open, g.total, g.first_at, g.last_at, g.first_build, g.last_build,
    g.first_letter, g.last_letter, g.sample, g.resolved_at, g.resolved_by, g.resolved_build,
    g.muted_until, COALESCE(g.muted_count, 0), g.muted_by, g.muted_anyway, g.assignee, g.note, g.link
FROM json_each($1) AS i
JOIN {{schema}}.headrace_groups AS g ON g.consumer = i.value ->> 0 AND g.handler = i.value ->> 1 AND g.error_fingerprint = i.value ->> 2
