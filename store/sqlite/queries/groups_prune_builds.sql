-- Builds that started first a year ago, and that no process has.
DELETE FROM {{schema}}.headrace_builds AS b
WHERE b.first_at < (SELECT {{now}}) - 365 * 86400000000 AND NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_instances AS i WHERE i.consumer = b.consumer AND i.build = b.build
)
