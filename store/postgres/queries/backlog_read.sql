-- Ready rows of a shard, in their order.
-- The last two columns are of the snapshot: see floors.
SELECT b.id, b.handler, b.scope, b.key, b.order_key, b.strict, b.fingerprint, b.message_id, b.topic, b.payload,
    b.metadata, b.coordinates, b.trace_parent, b.trace_state, b.attempt, b.spent, b.letter_id, b.redrives,
    b.reply_topic,
    (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint), (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
FROM {{schema}}.headrace_backlog AS b
WHERE b.line = 'ready' AND b.consumer = $1 AND b.shard = $2 AND b.id > $3
ORDER BY b.id
LIMIT $4
