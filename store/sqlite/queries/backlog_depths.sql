-- How many rows each handler has by status, and for how long the oldest that can be worked off has
-- been ready, among the first: $1 of each shard that are ready, 64 times as many of each other status. What
-- waits to be leased can be. Rows that no process works off stay the first ones. It jumps from consumer to
-- consumer.
WITH RECURSIVE shards (value) AS (
    VALUES (0) UNION ALL SELECT value + 1 FROM shards WHERE value < 63
), ready AS (
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
    SELECT b.consumer, b.handler, b.status, b.postponed_at, b.ready_at
    FROM ready
    CROSS JOIN shards AS s
    CROSS JOIN {{schema}}.headrace_backlog AS b ON b.consumer = ready.consumer AND b.shard = s.value AND b.status = 'ready' AND b.place <= COALESCE((
        SELECT last.place FROM {{schema}}.headrace_backlog AS last
        WHERE last.consumer = ready.consumer AND last.shard = s.value AND last.status = 'ready'
        ORDER BY last.place LIMIT 1 OFFSET $1 - 1
    ), 9223372036854775807)
    UNION ALL
    SELECT b.consumer, b.handler, b.status, b.postponed_at, b.ready_at
    FROM delayed
    CROSS JOIN {{schema}}.headrace_backlog AS b ON b.consumer = delayed.consumer AND b.status = 'delayed' AND b.due_at <= COALESCE((
        SELECT last.due_at FROM {{schema}}.headrace_backlog AS last
        WHERE last.consumer = delayed.consumer AND last.status = 'delayed'
        ORDER BY last.due_at LIMIT 1 OFFSET 64 * $1 - 1
    ), 9223372036854775807)
    UNION ALL
    SELECT * FROM (SELECT b.consumer, b.handler, b.status, b.postponed_at, b.ready_at FROM {{schema}}.headrace_backlog AS b
    WHERE b.status = 'leasable' ORDER BY b.consumer, b.handler, b.place LIMIT 64 * $1)
    UNION ALL
    SELECT * FROM (SELECT b.consumer, b.handler, b.status, b.postponed_at, b.ready_at FROM {{schema}}.headrace_backlog AS b
    WHERE b.status = 'leased' ORDER BY b.consumer, b.handler, b.due_at LIMIT 64 * $1)
    UNION ALL
    SELECT * FROM (SELECT b.consumer, b.handler, b.status, b.postponed_at, b.ready_at FROM {{schema}}.headrace_backlog AS b
    WHERE b.status = 'blocked' ORDER BY b.scope, b.order_key, b.id LIMIT 64 * $1)
)
SELECT f.consumer, f.handler, count(*) FILTER (WHERE f.status IN ('ready', 'leasable')), count(*) FILTER (WHERE f.status = 'delayed'),
    count(*) FILTER (WHERE f.status = 'delayed' AND f.postponed_at IS NOT NULL),
    count(*) FILTER (WHERE f.status = 'blocked'), count(*) FILTER (WHERE f.status = 'leased'),
    COALESCE({{now}} - min(f.ready_at) FILTER (WHERE f.status IN ('ready', 'leasable')), 0)
FROM first AS f
GROUP BY f.consumer, f.handler
