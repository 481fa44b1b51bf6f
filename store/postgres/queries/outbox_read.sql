-- Ready rows of a shard, in their order. Compared as (shard, id), which is what the
-- index is sorted by: for shard = $1 the planner expects so few rows, where it has
-- no statistics yet, that it reads the whole shard and sorts it, for each batch.
-- The last two columns are of the snapshot: see floors.
SELECT o.id, o.message_id, o.topic, o.order_key, o.payload, o.metadata, o.trace_parent, o.trace_state,
    (extract(epoch FROM {{now}} - o.created_at) * 1000000)::bigint,
    (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint), (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
FROM {{schema}}.headrace_outbox AS o
WHERE (o.shard, o.id) > ($1, $2) AND (o.shard, o.id) <= ($1, 9223372036854775807)
ORDER BY o.shard, o.id
LIMIT $3
