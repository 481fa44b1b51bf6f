-- An idle look: the shards with ready rows above their marks, and those with held rows:
-- whether one is due, and the first that will be. It goes from shard to shard along the
-- indexes, as backlog_poll does: an empty outbox is two probes.
WITH RECURSIVE ready AS (
    SELECT 0 AS next, NULL::integer AS found
    UNION ALL
    SELECT CASE WHEN f.id > f.mark THEN f.shard + 1 ELSE f.shard END, CASE WHEN f.id > f.mark THEN f.shard END
    FROM ready
    CROSS JOIN LATERAL (
        SELECT o.shard, o.id, ($1::bigint[])[o.shard + 1] AS mark
        FROM {{schema}}.headrace_outbox AS o
        WHERE (o.outbox, o.shard, o.id) > ($2::text, ready.next::smallint, ($1::bigint[])[ready.next + 1])
            AND (o.outbox, o.shard, o.id) <= ($2::text, 63::smallint, 9223372036854775807)
        ORDER BY o.outbox, o.shard, o.id
        LIMIT 1
    ) AS f
    WHERE ready.next < cardinality($1::bigint[])
), held AS (
    (
        SELECT h.shard, h.due_at FROM {{schema}}.headrace_outbox_held AS h
        WHERE h.outbox = $2 AND h.due_at IS NOT NULL
        ORDER BY h.shard, h.due_at
        LIMIT 1
    )
    UNION ALL
    SELECT f.shard, f.due_at
    FROM held
    CROSS JOIN LATERAL (
        SELECT h.shard, h.due_at FROM {{schema}}.headrace_outbox_held AS h
        WHERE h.outbox = $2 AND h.due_at IS NOT NULL AND h.shard > held.shard
        ORDER BY h.shard, h.due_at
        LIMIT 1
    ) AS f
), clock AS MATERIALIZED (
    SELECT {{now}} AS now
)
SELECT ready.found, true, NULL::bigint FROM ready WHERE ready.found IS NOT NULL
UNION ALL
SELECT held.shard, held.due_at <= (SELECT clock.now FROM clock), (
    SELECT (extract(epoch FROM h.due_at - (SELECT clock.now FROM clock)) * 1000000)::bigint
    FROM {{schema}}.headrace_outbox_held AS h
    WHERE h.outbox = $2 AND h.shard = held.shard AND h.due_at > (SELECT clock.now FROM clock)
    ORDER BY h.due_at
    LIMIT 1
)
FROM held
