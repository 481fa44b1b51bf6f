-- Newest first, with how long ago each beat, and was counted as dead, in microseconds.
SELECT i.id, i.consumer, i.host, i.build, i.environment, i.handlers, i.started_at, i.beat_at,
    (extract(epoch FROM {{now}} - i.beat_at) * 1000000)::bigint, i.ended_at,
    i.counted_at, (extract(epoch FROM {{now}} - i.counted_at) * 1000000)::bigint, i.rate, i.p50_us
FROM {{schema}}.headrace_instances AS i
WHERE ($1::text = '' OR i.consumer = $1::text)
    AND COALESCE(i.ended_at, i.counted_at, 'infinity') > (SELECT {{now}} - interval '1 hour')
ORDER BY i.started_at DESC, i.id
