-- Groups with their counters, and the changes that are not added up yet: so the numbers are
-- exact. A group that only has such changes is new. $4 is for those without open letters, too.
WITH pending AS (
    SELECT c.consumer, c.handler, c.error_fingerprint, sum(c.opened) AS opened, sum(c.opened - c.closed) AS open,
        min(c.oldest) AS oldest, max(c.newest) AS newest, min(c.at) AS at, max(c.at) FILTER (WHERE c.opened > 0) AS last
    FROM {{schema}}.headrace_letter_changes AS c
    WHERE ($1 = '' OR c.consumer = $1) AND ($2 = '' OR c.handler = $2) AND ($3 = '' OR c.error_fingerprint = $3)
    GROUP BY c.consumer, c.handler, c.error_fingerprint
), counted AS (
    SELECT *
    FROM {{schema}}.headrace_groups AS g
    WHERE ($1 = '' OR g.consumer = $1) AND ($2 = '' OR g.handler = $2) AND ($3 = '' OR g.error_fingerprint = $3)
)
{{groups_exact}}
WHERE $4 OR COALESCE(g.open, 0) + COALESCE(p.open, 0) > 0
ORDER BY 7 DESC, 14 DESC
