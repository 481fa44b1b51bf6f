-- Newest first, with how long ago each beat, and was counted as dead, in microseconds.
SELECT i.id, i.consumer, i.host, i.build, i.environment, i.handlers, i.started_at, i.beat_at,
    {{now}} - i.beat_at, i.ended_at,
    i.counted_at, {{now}} - i.counted_at, i.rate, i.p50_us
FROM {{schema}}.headrace_instances AS i
WHERE ($1 = '' OR i.consumer = $1)
    AND COALESCE(i.ended_at, i.counted_at, 9223372036854775807) > (SELECT {{now}}) - 3600000000
ORDER BY i.started_at DESC, i.id
