-- Newest first, with how long ago each beat in microseconds. Settled: the message that
-- it runs has come to its end.
SELECT i.id, i.consumer, i.host, i.build, i.started_at, i.beat_at,
    CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - i.beat_at, i.ended_at,
    i.outlived_at IS NOT NULL, i.running_scope, i.running_key,
    i.running_key <> '' AND EXISTS (
        SELECT 1 FROM {{schema}}.headrace_inbox AS m
        WHERE m.scope = i.running_scope AND m.key = i.running_key AND m.state <> 'waiting'
    )
FROM {{schema}}.headrace_instances AS i
WHERE ($1 = '' OR i.consumer = $1)
    AND COALESCE(i.ended_at, CASE WHEN i.running_key = '' THEN i.outlived_at END, 9223372036854775807)
        > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - 3600000000
ORDER BY i.started_at DESC, i.id
