-- Parked rows, for operators, without their payloads.
SELECT h.shard, h.id, h.message_id, h.topic, h.order_key, h.metadata, h.trace_parent, h.trace_state,
    CAST(unixepoch('subsec') * 1000000 AS INTEGER) - h.created_at, h.attempts, h.error
FROM {{schema}}.headrace_outbox_held AS h
WHERE h.reason = 'parked' AND h.id > $1
ORDER BY h.id
LIMIT $2
