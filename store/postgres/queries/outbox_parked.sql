-- Parked rows, for operators, without their payloads.
SELECT h.id, h.message_id, h.topic, h.order_key, ''::bytea, h.metadata, h.trace_parent, h.trace_state,
    (extract(epoch FROM {{now}} - h.created_at) * 1000000)::bigint, h.attempts, h.error, h.shard
FROM {{schema}}.headrace_outbox_held AS h
WHERE h.reason = 'parked' AND h.id > $1
ORDER BY h.id
LIMIT $2
