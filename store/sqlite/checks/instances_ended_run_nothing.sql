-- An instance that ended in order runs no message, and what one runs is of its own consumer.
SELECT count(*), COALESCE(min(i.id), '')
FROM {{schema}}.headrace_instances AS i
WHERE i.running_key <> '' AND (i.ended_at IS NOT NULL OR i.running_at IS NULL
    OR substr(i.running_scope, 1, length(i.consumer) + 1) <> i.consumer || '/')
