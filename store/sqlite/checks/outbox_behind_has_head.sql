-- An event that waits behind another of its order has an earlier one to wait for.
SELECT count(*), COALESCE(min(h.id), '')
FROM {{schema}}.headrace_outbox_held AS h
WHERE h.reason = 'behind' AND NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_outbox_held AS b
    WHERE b.outbox = h.outbox AND b.shard = h.shard AND b.topic = h.topic AND b.order_key = h.order_key AND b.order_key <> ''
        AND b.id < h.id AND b.reason <> 'delayed' AND b.reason <> 'behind'
)
