-- How many rows each handler has by status, and for how long the oldest that can be worked off has
-- been ready, among the first: $1 of each shard that are ready, 64 times as many of each other status. What
-- waits to be leased can be. Rows that no process works off stay the first ones. It jumps along
-- the indexes. The planner takes a range for rare and so the jumps for few; with more it would have the
-- statement compiled, which takes longer than the statement.
WITH RECURSIVE ready AS (
    (SELECT b.consumer, b.shard FROM {{schema}}.headrace_backlog AS b WHERE b.status = 'ready' ORDER BY b.consumer, b.shard, b.place LIMIT 1)
    UNION ALL
    SELECT f.* FROM ready
    CROSS JOIN LATERAL (
        SELECT b.consumer, b.shard FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'ready' AND (b.consumer, b.shard) > (ready.consumer, ready.shard) ORDER BY b.consumer, b.shard, b.place LIMIT 1
    ) AS f
    WHERE ready.shard BETWEEN 0 AND 63
), delayed AS (
    (SELECT b.consumer, b.shard FROM {{schema}}.headrace_backlog AS b WHERE b.status = 'delayed' ORDER BY b.consumer, b.due_at LIMIT 1)
    UNION ALL
    SELECT f.* FROM delayed
    CROSS JOIN LATERAL (
        SELECT b.consumer, b.shard FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'delayed' AND b.consumer > delayed.consumer ORDER BY b.consumer, b.due_at LIMIT 1
    ) AS f
    WHERE delayed.shard BETWEEN 0 AND 63
), first AS (
    SELECT f.* FROM ready
    CROSS JOIN LATERAL (
        SELECT b.consumer, b.handler, b.status, b.postponed_at, b.ready_at FROM {{schema}}.headrace_backlog AS b
        WHERE b.consumer = ready.consumer AND b.shard = ready.shard AND b.status = 'ready' ORDER BY b.place LIMIT $1
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
