-- Builds that a consumer has started.
INSERT INTO {{schema}}.headrace_builds (consumer, build, first_at)
SELECT i.consumer, i.build, min(i.started_at)
FROM {{schema}}.headrace_instances AS i
WHERE i.consumer = $1 AND NOT EXISTS (SELECT FROM {{schema}}.headrace_builds AS b WHERE b.consumer = i.consumer AND b.build = i.build)
GROUP BY i.consumer, i.build
ON CONFLICT DO NOTHING
