-- Ready rows of a shard, in their order. Compared as (outbox, shard, id), which is what
-- the index is sorted by: for outbox = $4 AND shard = $1 the planner expects so few rows, where it has
-- no statistics yet, that it reads the whole shard and sorts it, for each batch.
-- The last two columns are of the snapshot: see floors.
SELECT o.id, o.message_id, o.topic, o.order_key, o.payload, o.metadata, o.trace_parent, o.trace_state,
    o.created_at,
    (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint), (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
FROM {{schema}}.headrace_outbox AS o
WHERE (o.outbox, o.shard, o.id) > ($4, $1, $2) AND (o.outbox, o.shard, o.id) <= ($4, $1, 9223372036854775807)
ORDER BY o.outbox, o.shard, o.id
LIMIT $3
