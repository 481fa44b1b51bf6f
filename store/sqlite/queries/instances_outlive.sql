-- Those that have missed their beats are no reason for caution any more.
UPDATE {{schema}}.headrace_instances
SET outlived_at = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
WHERE consumer = (SELECT o.consumer FROM {{schema}}.headrace_instances AS o WHERE o.id = $1) AND id <> $1
    AND ended_at IS NULL AND outlived_at IS NULL AND beat_at < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - $2
