-- Rows of these topics in the outbox $2 that a sink had refused, and those behind them, are
-- ready on the line 'local/'. subscriptions_local_refused_gone then deletes them.
INSERT INTO {{schema}}.headrace_outbox (outbox, shard, id, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, created_at)
SELECT 'local/', o.shard, o.id, o.message_id, o.topic, o.order_key, o.payload, o.metadata, o.trace_parent, o.trace_state, o.created_at
FROM {{schema}}.headrace_outbox_held AS o
WHERE o.outbox = $2 AND o.reason <> 'delayed' AND (json_array_length($1) = 0 OR o.topic IN (SELECT value FROM json_each($1)))
