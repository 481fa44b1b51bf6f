-- Ready rows of a shard, in their order. The last two columns are of a snapshot, which
-- is not needed here.
SELECT o.id, o.message_id, o.topic, o.order_key, o.payload, o.metadata, o.trace_parent, o.trace_state,
    o.created_at, 0, 0
FROM {{schema}}.headrace_outbox AS o
WHERE o.outbox = $4 AND o.shard = $1 AND o.id > $2
ORDER BY o.id
LIMIT $3
