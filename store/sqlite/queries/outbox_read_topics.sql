-- Ready rows of a shard, in their order: those of the topics $5, or where $6 of all
-- others. The last two columns are of a snapshot, which is not needed here.
SELECT o.id, o.message_id, o.topic, o.order_key, o.payload, o.metadata, o.trace_parent, o.trace_state,
    {{now}} - o.created_at, 0, 0
FROM {{schema}}.headrace_outbox AS o
WHERE o.outbox = $4 AND o.shard = $1 AND o.id > $2
    AND (o.topic IN (SELECT value FROM json_each($5))) <> $6
ORDER BY o.id
LIMIT $3
