-- Parked rows of one outbox, or of all, for operators, without their payloads.
SELECT h.id, h.message_id, h.topic, h.order_key, ''::bytea, h.metadata, h.trace_parent, h.trace_state,
    (extract(epoch FROM {{now}} - h.created_at) * 1000000)::bigint, h.attempts, h.error, h.shard, h.outbox
FROM {{schema}}.headrace_outbox_held AS h
WHERE h.reason = 'parked' AND h.id > $1 AND ($3 = '' OR h.outbox = $3)
ORDER BY h.id
LIMIT $2
