-- Groups that are due until $2, those first that are due for longest, with the sums
-- over all that are.
SELECT g.grp, g.kind, g.handler, g.topic, g.class, g.error_fingerprint, g.letter_id, g.waiting, g.since, g.at,
    g.passed_at IS NULL, g.failures,
    count(*) OVER (), sum(g.waiting) OVER (), min(g.since) OVER (), max(g.at) OVER ()
FROM {{schema}}.headrace_alert_groups AS g
WHERE g.consumer = $1 AND g.waiting > 0 AND g.due_at <= $2
ORDER BY g.due_at, g.grp
LIMIT $3
