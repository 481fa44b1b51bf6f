-- Ready rows are held. They keep their ids, and with them their place in the order.
INSERT INTO {{schema}}.headrace_outbox_held
    (outbox, shard, id, reason, due_at, attempts, error, message_id, topic, order_key, payload, metadata,
     trace_parent, trace_state, created_at, copied)
SELECT o.outbox, o.shard, o.id, h.value ->> 2,
    CASE WHEN h.value ->> 2 IN ('delayed', 'backoff') THEN ({{now}} + (h.value ->> 3)) / 1000 * 1000 END, h.value ->> 4, h.value ->> 5,
    o.message_id, o.topic, o.order_key, o.payload, o.metadata, o.trace_parent, o.trace_state, o.created_at, o.copied
FROM json_each($1) AS h
CROSS JOIN {{schema}}.headrace_outbox AS o ON o.outbox = $2 AND o.shard = h.value ->> 0 AND o.id = h.value ->> 1
