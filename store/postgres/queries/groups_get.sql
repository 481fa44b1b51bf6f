-- Groups by their names, against people who change them.
SELECT g.consumer, g.handler, g.error_fingerprint, g.class, g.state, g.state_at, g.open, g.total, g.first_at, g.last_at, g.first_build, g.last_build,
    g.first_letter, g.last_letter, g.sample, g.resolved_at, g.resolved_by, g.resolved_build,
    g.muted_until, COALESCE(g.muted_count, 0), g.muted_by, g.muted_anyway, g.assignee, g.note, g.link
FROM unnest($1::text[], $2::text[], $3::text[]) AS i (consumer, handler, error_fingerprint)
JOIN {{schema}}.headrace_groups AS g ON g.consumer = i.consumer AND g.handler = i.handler AND g.error_fingerprint = i.error_fingerprint
ORDER BY g.consumer, g.handler, g.error_fingerprint
FOR UPDATE OF g
