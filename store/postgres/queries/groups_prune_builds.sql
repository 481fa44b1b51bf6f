-- Builds that started first a year ago, and that no process has.
DELETE FROM {{schema}}.headrace_builds AS b
WHERE b.first_at < {{now}} - interval '365 days' AND NOT EXISTS (
    SELECT FROM {{schema}}.headrace_instances AS i WHERE i.consumer = b.consumer AND i.build = b.build
)
