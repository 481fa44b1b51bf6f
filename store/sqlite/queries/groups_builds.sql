-- The builds of a consumer by their first start, and how many processes run each: those that
-- have beaten within $2 (µs).
SELECT b.build, min(b.first_at), count(*) FILTER (WHERE b.runs)
FROM (
    SELECT k.build, k.first_at, false AS runs FROM {{schema}}.headrace_builds AS k WHERE k.consumer = $1
    UNION ALL
    SELECT i.build, i.started_at, i.ended_at IS NULL AND i.beat_at > {{now}} - $2
    FROM {{schema}}.headrace_instances AS i WHERE i.consumer = $1
) AS b
GROUP BY b.build
ORDER BY min(b.first_at), b.build
