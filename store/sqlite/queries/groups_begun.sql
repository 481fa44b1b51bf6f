-- Groups of a consumer that may have begun to fail: those in a state that alerts, the newest $2, and those with
-- changes that are not added up yet. Numbers are exact, as in groups_list.
WITH pending AS (
    SELECT c.consumer, c.handler, c.error_fingerprint, sum(c.opened) AS opened, sum(c.opened - c.closed) AS open,
        min(c.oldest) AS oldest, max(c.newest) AS newest, min(c.at) AS at, max(c.at) FILTER (WHERE c.opened > 0) AS last
    FROM {{schema}}.headrace_letter_changes AS c
    WHERE c.consumer = $1
    GROUP BY c.consumer, c.handler, c.error_fingerprint
), chosen AS (
    SELECT b.handler, b.error_fingerprint FROM (
        SELECT g.handler, g.error_fingerprint FROM {{schema}}.headrace_groups AS g
        WHERE g.consumer = $1 AND g.state IN ('new', 'regressed', 'escalating') ORDER BY g.state_at DESC LIMIT $2
    ) AS b
    UNION
    SELECT p.handler, p.error_fingerprint FROM pending AS p
), counted AS (
    SELECT g.* FROM chosen AS c
    CROSS JOIN {{schema}}.headrace_groups AS g ON g.consumer = $1 AND g.handler = c.handler AND g.error_fingerprint = c.error_fingerprint
)
{{groups_exact}}
ORDER BY 7 DESC, 14 DESC
