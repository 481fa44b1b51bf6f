-- Newest first, with how long ago each beat in microseconds. Settled: the message that
-- it runs has come to its end.
SELECT i.id, i.consumer, i.host, i.build, i.started_at, i.beat_at,
    (extract(epoch FROM clock_timestamp() - i.beat_at) * 1000000)::bigint, i.ended_at,
    i.outlived_at IS NOT NULL, i.running_scope, i.running_key,
    i.running_key <> '' AND EXISTS (
        SELECT 1 FROM {{schema}}.headrace_inbox AS m
        WHERE m.scope = i.running_scope AND m.key = i.running_key AND m.state <> 'waiting'
    )
FROM {{schema}}.headrace_instances AS i
WHERE ($1::text = '' OR i.consumer = $1)
    AND COALESCE(i.ended_at, CASE WHEN i.running_key = '' THEN i.outlived_at END, 'infinity') > clock_timestamp() - interval '1 hour'
ORDER BY i.started_at DESC, i.id
