-- The groups of counted (g) with their pending changes (p): so the numbers are exact.
SELECT COALESCE(g.consumer, p.consumer), COALESCE(g.handler, p.handler), COALESCE(g.error_fingerprint, p.error_fingerprint),
    COALESCE(newest.class, g.class, ''), COALESCE(g.state, 'new'), COALESCE(g.state_at, p.at),
    COALESCE(g.open, 0) + COALESCE(p.open, 0) AS open, COALESCE(g.total, 0) + COALESCE(p.opened, 0),
    COALESCE(g.first_at, oldest.created_at, p.at), COALESCE(CASE WHEN newest.id IS NOT NULL THEN p.last END, g.last_at, p.last, p.at),
    COALESCE(g.first_build, oldest.build, ''), COALESCE(newest.build, g.last_build, ''),
    COALESCE(g.first_letter, p.oldest, 0), max(COALESCE(g.last_letter, 0), COALESCE(p.newest, 0)), COALESCE(substr(newest.error, 1, 500), g.sample, ''),
    g.resolved_at, COALESCE(g.resolved_by, ''), COALESCE(g.resolved_build, ''),
    g.muted_until, COALESCE(g.muted_count, 0), COALESCE(g.muted_by, ''), COALESCE(g.muted_anyway, false), COALESCE(g.assignee, ''), COALESCE(g.note, ''), COALESCE(g.link, '')
FROM counted AS g
FULL JOIN pending AS p ON p.consumer = g.consumer AND p.handler = g.handler AND p.error_fingerprint = g.error_fingerprint
LEFT JOIN {{schema}}.headrace_dead_letters AS newest ON newest.id = p.newest AND p.newest > COALESCE(g.last_letter, 0)
LEFT JOIN {{schema}}.headrace_dead_letters AS oldest ON oldest.id = p.oldest AND g.first_letter IS NULL
