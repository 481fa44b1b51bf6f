-- What waits in the outbox or on the line $1, by topic, and whether a process publishes it: at
-- most $2 rows of each shard, ready and held.
WITH waiting AS (
    SELECT ready.topic, ready.created_at AS since
    FROM generate_series(0, 63) AS s (shard)
    CROSS JOIN LATERAL (
        SELECT o.topic, o.created_at FROM {{schema}}.headrace_outbox AS o
        WHERE o.outbox = $1::text AND o.shard = s.shard::smallint
        ORDER BY o.id
        LIMIT $2::integer
    ) AS ready
    UNION ALL
    SELECT held.topic, CASE WHEN held.reason = 'delayed' AND held.error = '' THEN held.due_at ELSE held.created_at END
    FROM generate_series(0, 63) AS s (shard)
    CROSS JOIN LATERAL (
        SELECT h.topic, h.reason, h.error, h.due_at, h.created_at FROM {{schema}}.headrace_outbox_held AS h
        WHERE h.outbox = $1::text AND h.shard = s.shard::smallint
        ORDER BY h.id
        LIMIT $2::integer
    ) AS held
)
SELECT waiting.topic, count(*), GREATEST((extract(epoch FROM {{now}} - min(waiting.since)) * 1000000)::bigint, 0),
    EXISTS (
        SELECT FROM {{schema}}.headrace_relays AS r
        WHERE r.outbox = $1::text AND r.beat_at > (SELECT {{now}} - $3::bigint * interval '1 microsecond')
    )
FROM waiting
GROUP BY waiting.topic
ORDER BY waiting.topic
