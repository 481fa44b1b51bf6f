-- Rows of these topics in the outbox $2 that a sink had refused, and those behind them, are
-- ready on the line 'local/'.
WITH refused AS (
    DELETE FROM {{schema}}.headrace_outbox_held AS o
    WHERE o.outbox = $2::text AND o.reason <> 'delayed' AND (cardinality($1::text[]) = 0 OR o.topic = ANY ($1::text[]))
    RETURNING o.shard, o.id, o.message_id, o.topic, o.order_key, o.payload, o.metadata, o.trace_parent, o.trace_state, o.created_at
)
INSERT INTO {{schema}}.headrace_outbox (outbox, shard, id, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, created_at)
SELECT 'local/', refused.* FROM refused
