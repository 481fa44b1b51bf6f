-- Parked rows, for operators, without their payloads.
SELECT h.id, h.message_id, h.topic, h.order_key, NULL, h.metadata, h.trace_parent, h.trace_state,
    {{now}} - h.created_at, h.attempts, h.error, h.shard
FROM {{schema}}.headrace_outbox_held AS h
WHERE h.reason = 'parked' AND h.id > $1
ORDER BY h.id
LIMIT $2
