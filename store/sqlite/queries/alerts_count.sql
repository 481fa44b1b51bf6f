-- Rows up to $2 are counted into their groups, but for those that are too old ($3
-- microseconds).
INSERT INTO {{schema}}.headrace_alert_groups AS g
    (consumer, grp, kind, handler, topic, class, error_fingerprint, letter_id, waiting, since, at, due_at)
SELECT f.consumer, f.grp, f.kind, f.handler, f.topic, f.class, f.error_fingerprint, f.letter_id, s.waiting, s.since, s.at, {{now}}
FROM (
    SELECT a.grp, count(*) AS waiting, min(a.at) AS since, max(a.at) AS at, max(a.id) AS newest
    FROM {{schema}}.headrace_alerts AS a
    WHERE a.consumer = $1 AND a.id <= $2 AND a.at > (SELECT {{now}} - $3)
    GROUP BY a.grp
) AS s
JOIN {{schema}}.headrace_alerts AS f ON f.id = s.newest
WHERE true
ON CONFLICT (consumer, grp) DO UPDATE SET
    kind = excluded.kind, handler = excluded.handler, topic = excluded.topic, class = excluded.class,
    error_fingerprint = excluded.error_fingerprint, letter_id = excluded.letter_id,
    since = CASE WHEN g.waiting = 0 THEN excluded.since ELSE g.since END,
    at = excluded.at, waiting = g.waiting + excluded.waiting
