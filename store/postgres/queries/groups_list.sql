-- Groups with their counters, and the changes that are not added up yet: so the numbers are
-- exact. A group that only has such changes is new. $4 is for those without open letters, too.
-- OFFSET 0 keeps the planner from reading all letters for a few.
WITH pending AS (
    SELECT c.consumer, c.handler, c.error_fingerprint, sum(c.opened) AS opened, sum(c.opened - c.closed) AS open,
        min(c.oldest) AS oldest, max(c.newest) AS newest, min(c.at) AS at, max(c.at) FILTER (WHERE c.opened > 0) AS last
    FROM {{schema}}.headrace_letter_changes AS c
    WHERE ($1::text = '' OR c.consumer = $1::text) AND ($2::text = '' OR c.handler = $2::text) AND ($3::text = '' OR c.error_fingerprint = $3::text)
    GROUP BY c.consumer, c.handler, c.error_fingerprint
), counted AS (
    SELECT *
    FROM {{schema}}.headrace_groups AS g
    WHERE ($1::text = '' OR g.consumer = $1::text) AND ($2::text = '' OR g.handler = $2::text) AND ($3::text = '' OR g.error_fingerprint = $3::text)
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
WHERE $4::boolean OR COALESCE(g.open, 0) + COALESCE(p.open, 0) > 0
ORDER BY open DESC, COALESCE(GREATEST(g.last_letter, p.newest), 0) DESC
