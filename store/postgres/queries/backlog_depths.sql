-- How many rows each handler has by status, and for how long the oldest that can be worked off has
-- been ready, among the first: $1 of each shard that are ready, 64 times as many of each other status. What
-- waits to be leased can be. Rows that nobody works off stay the first ones. It jumps from consumer to
-- consumer.
WITH RECURSIVE ready AS (
    SELECT min(b.consumer) AS consumer FROM {{schema}}.headrace_backlog AS b WHERE b.status = 'ready'
    UNION ALL
    SELECT (SELECT min(b.consumer) FROM {{schema}}.headrace_backlog AS b WHERE b.status = 'ready' AND b.consumer > ready.consumer)
    FROM ready WHERE ready.consumer IS NOT NULL
), delayed AS (
    SELECT min(b.consumer) AS consumer FROM {{schema}}.headrace_backlog AS b WHERE b.status = 'delayed'
    UNION ALL
    SELECT (SELECT min(b.consumer) FROM {{schema}}.headrace_backlog AS b WHERE b.status = 'delayed' AND b.consumer > delayed.consumer)
    FROM delayed WHERE delayed.consumer IS NOT NULL
), first AS (
    SELECT f.* FROM ready
    CROSS JOIN generate_series(0, 63) AS s (shard)
    CROSS JOIN LATERAL (
        SELECT b.consumer, b.handler, b.status, b.postponed_at, b.ready_at FROM {{schema}}.headrace_backlog AS b
        WHERE b.consumer = ready.consumer AND b.shard = s.shard::smallint AND b.status = 'ready' ORDER BY b.place LIMIT $1
    ) AS f
    UNION ALL
    SELECT f.* FROM delayed
    CROSS JOIN LATERAL (
        SELECT b.consumer, b.handler, b.status, b.postponed_at, b.ready_at FROM {{schema}}.headrace_backlog AS b
        WHERE b.consumer = delayed.consumer AND b.status = 'delayed' ORDER BY b.due_at LIMIT 64 * $1
    ) AS f
    UNION ALL
    (SELECT b.consumer, b.handler, b.status, b.postponed_at, b.ready_at FROM {{schema}}.headrace_backlog AS b
    WHERE b.status = 'leasable' ORDER BY b.consumer, b.handler, b.place LIMIT 64 * $1)
    UNION ALL
    (SELECT b.consumer, b.handler, b.status, b.postponed_at, b.ready_at FROM {{schema}}.headrace_backlog AS b
    WHERE b.status = 'leased' ORDER BY b.consumer, b.handler, b.due_at LIMIT 64 * $1)
    UNION ALL
    (SELECT b.consumer, b.handler, b.status, b.postponed_at, b.ready_at FROM {{schema}}.headrace_backlog AS b
    WHERE b.status = 'blocked' ORDER BY b.scope, b.order_key, b.id NULLS FIRST LIMIT 64 * $1)
)
SELECT f.consumer, f.handler, count(*) FILTER (WHERE f.status IN ('ready', 'leasable')), count(*) FILTER (WHERE f.status = 'delayed'),
    count(*) FILTER (WHERE f.status = 'delayed' AND f.postponed_at IS NOT NULL),
    count(*) FILTER (WHERE f.status = 'blocked'), count(*) FILTER (WHERE f.status = 'leased'),
    COALESCE((extract(epoch FROM {{now}} - min(f.ready_at) FILTER (WHERE f.status IN ('ready', 'leasable'))) * 1000000)::bigint, 0)
FROM first AS f
GROUP BY f.consumer, f.handler
