-- How many rows of $1 there are by status, at most $2 of each, and for how long the oldest
-- that can be worked off has been ready. What waits to be leased can be. Each count reads
-- $2 entries of an index; that of the postponed ones reads rows, and a tenth of them. Rows become ready in the order of their place, so that the
-- oldest is the first of a shard, or of a handler with leases; it jumps from handler to
-- handler.
WITH RECURSIVE leasing AS (
    SELECT min(b.handler) AS handler FROM {{schema}}.headrace_backlog AS b WHERE b.consumer = $1::text AND b.status = 'leasable'
    UNION ALL
    SELECT (
        SELECT min(b.handler) FROM {{schema}}.headrace_backlog AS b
        WHERE b.consumer = $1::text AND b.handler > leasing.handler AND b.status = 'leasable'
    )
    FROM leasing
    WHERE leasing.handler IS NOT NULL
), firsts AS (
    SELECT (
        SELECT b.ready_at FROM {{schema}}.headrace_backlog AS b
        WHERE b.consumer = $1::text AND b.shard = s.shard AND b.status = 'ready'
        ORDER BY b.place
        LIMIT 1
    ) AS ready_at
    FROM generate_series(0, 63) AS s (shard)
    UNION ALL
    SELECT (
        SELECT b.ready_at FROM {{schema}}.headrace_backlog AS b
        WHERE b.consumer = $1::text AND b.handler = leasing.handler AND b.status = 'leasable'
        ORDER BY b.place
        LIMIT 1
    )
    FROM leasing
)
SELECT (SELECT count(*) FROM (SELECT 1 FROM {{schema}}.headrace_backlog AS b WHERE b.consumer = $1::text AND b.status = 'ready' ORDER BY b.shard, b.place LIMIT $2::integer) AS c)
    + (SELECT count(*) FROM (SELECT 1 FROM {{schema}}.headrace_backlog AS b WHERE b.consumer = $1::text AND b.status = 'leasable' ORDER BY b.handler, b.place LIMIT $2::integer) AS c),
    (SELECT count(*) FROM (SELECT 1 FROM {{schema}}.headrace_backlog AS b WHERE b.consumer = $1::text AND b.status = 'delayed' ORDER BY b.due_at LIMIT $2::integer) AS c),
    (SELECT count(c.postponed_at) FROM (SELECT b.postponed_at FROM {{schema}}.headrace_backlog AS b WHERE b.consumer = $1::text AND b.status = 'delayed' ORDER BY b.due_at LIMIT $2::integer / 10) AS c),
    (SELECT count(*) FROM (SELECT 1 FROM {{schema}}.headrace_backlog AS b WHERE b.consumer = $1::text AND b.status = 'blocked' ORDER BY b.scope, b.order_key, b.id NULLS FIRST LIMIT $2::integer) AS c),
    (SELECT count(*) FROM (SELECT 1 FROM {{schema}}.headrace_backlog AS b WHERE b.consumer = $1::text AND b.status = 'leased' ORDER BY b.handler, b.due_at LIMIT $2::integer) AS c),
    (SELECT COALESCE((extract(epoch FROM {{now}} - min(f.ready_at)) * 1000000)::bigint, 0) FROM firsts AS f)
