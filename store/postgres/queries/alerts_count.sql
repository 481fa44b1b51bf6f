-- The oldest rows are counted into their groups and removed, but for those that are
-- too old ($3 microseconds). It returns how many rows it took and how many of them
-- were too old.
WITH old AS MATERIALIZED (
    SELECT a.id FROM {{schema}}.headrace_alerts AS a WHERE a.consumer = $1 ORDER BY a.id LIMIT $2
), taken AS (
    DELETE FROM {{schema}}.headrace_alerts AS a USING old WHERE a.id = old.id RETURNING a.*
), fresh AS (
    SELECT t.* FROM taken AS t WHERE t.at > (SELECT {{now}} - $3::bigint * interval '1 microsecond')
), summed AS (
    SELECT f.grp, count(*) AS waiting, min(f.at) AS since, max(f.at) AS at, max(f.id) AS newest
    FROM fresh AS f GROUP BY f.grp
), counted AS (
    INSERT INTO {{schema}}.headrace_alert_groups AS g
        (consumer, grp, kind, handler, topic, class, error_fingerprint, letter_id, waiting, since, at)
    SELECT f.consumer, f.grp, f.kind, f.handler, f.topic, f.class, f.error_fingerprint, f.letter_id, s.waiting, s.since, s.at
    FROM summed AS s JOIN fresh AS f ON f.id = s.newest
    ON CONFLICT (consumer, grp) DO UPDATE SET
        kind = excluded.kind, handler = excluded.handler, topic = excluded.topic, class = excluded.class,
        error_fingerprint = excluded.error_fingerprint, letter_id = excluded.letter_id,
        since = CASE WHEN g.waiting = 0 THEN excluded.since ELSE g.since END,
        at = excluded.at, waiting = g.waiting + excluded.waiting
)
SELECT (SELECT count(*) FROM taken), (SELECT count(*) FROM taken) - (SELECT count(*) FROM fresh)
