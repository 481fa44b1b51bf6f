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
{{groups_exact}}
WHERE $4::boolean OR COALESCE(g.open, 0) + COALESCE(p.open, 0) > 0
ORDER BY open DESC, COALESCE(GREATEST(g.last_letter, p.newest), 0) DESC
