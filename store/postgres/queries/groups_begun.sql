-- Groups of a consumer that may have begun to fail: those in a state that alerts, the newest $2, and those with
-- changes that are not added up yet. Numbers are exact, as in groups_list.
-- OFFSET 0 keeps the planner from reading all groups, or all letters, for a few.
WITH pending AS (
    SELECT c.consumer, c.handler, c.error_fingerprint, sum(c.opened) AS opened, sum(c.opened - c.closed) AS open,
        min(c.oldest) AS oldest, max(c.newest) AS newest, min(c.at) AS at, max(c.at) FILTER (WHERE c.opened > 0) AS last
    FROM {{schema}}.headrace_letter_changes AS c
    WHERE c.consumer = $1::text
    GROUP BY c.consumer, c.handler, c.error_fingerprint
), chosen AS (
    SELECT b.handler, b.error_fingerprint FROM (
        SELECT g.handler, g.error_fingerprint FROM {{schema}}.headrace_groups AS g
        WHERE g.consumer = $1::text AND g.state IN ('new', 'regressed', 'escalating') ORDER BY g.state_at DESC LIMIT $2::integer
    ) AS b
    UNION
    SELECT p.handler, p.error_fingerprint FROM pending AS p
), counted AS (
    SELECT g.* FROM chosen AS c
    CROSS JOIN LATERAL (
        SELECT * FROM {{schema}}.headrace_groups AS g WHERE g.consumer = $1::text AND g.handler = c.handler AND g.error_fingerprint = c.error_fingerprint OFFSET 0
    ) AS g
)
SELECT COALESCE(g.consumer, p.consumer), COALESCE(g.handler, p.handler), COALESCE(g.error_fingerprint, p.error_fingerprint),
    COALESCE(newest.class, g.class, ''), COALESCE(g.state, 'new'), COALESCE(g.state_at, p.at),
    (COALESCE(g.open, 0) + COALESCE(p.open, 0))::bigint AS open, (COALESCE(g.total, 0) + COALESCE(p.opened, 0))::bigint,
    COALESCE(g.first_at, oldest.created_at, p.at), COALESCE(CASE WHEN newest.id IS NOT NULL THEN p.last END, g.last_at, p.last, p.at),
    COALESCE(g.first_build, oldest.build, ''), COALESCE(newest.build, g.last_build, ''),
    COALESCE(g.first_letter, p.oldest, 0), COALESCE(GREATEST(g.last_letter, p.newest), 0), COALESCE(left(newest.error, 500), g.sample, ''),
    g.resolved_at, COALESCE(g.resolved_by, ''), COALESCE(g.resolved_build, ''),
    g.muted_until, COALESCE(g.muted_count, 0), COALESCE(g.muted_by, ''), COALESCE(g.muted_anyway, false), COALESCE(g.assignee, ''), COALESCE(g.note, ''), COALESCE(g.link, '')
FROM counted AS g
FULL JOIN pending AS p ON p.consumer = g.consumer AND p.handler = g.handler AND p.error_fingerprint = g.error_fingerprint
LEFT JOIN LATERAL (
    SELECT l.id, l.class, l.build, l.error FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.id = p.newest AND p.newest > COALESCE(g.last_letter, 0) OFFSET 0
) AS newest ON true
LEFT JOIN LATERAL (
    SELECT l.created_at, l.build FROM {{schema}}.headrace_dead_letters AS l WHERE l.id = p.oldest AND g.first_letter IS NULL OFFSET 0
) AS oldest ON true
ORDER BY open DESC, COALESCE(GREATEST(g.last_letter, p.newest), 0) DESC
