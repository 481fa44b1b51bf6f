-- Rows of the line 'local/' whose topic has subscriptions by now, held ones: each
-- subscription gets its copy, with the id of the row, unless it has it. At most $1 rows, which
-- subscriptions_sweep_held then deletes.
INSERT INTO {{schema}}.headrace_outbox_held (outbox, shard, id, reason, due_at, attempts, error, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, created_at)
SELECT 'local/' || s.consumer, o.shard, o.id, o.reason, o.due_at, o.attempts, o.error, o.message_id, o.topic, o.order_key, o.payload, o.metadata, o.trace_parent, o.trace_state, o.created_at
FROM (
    SELECT * FROM {{schema}}.headrace_outbox_held AS o
    WHERE o.outbox = 'local/' AND o.topic IN (SELECT topic FROM {{schema}}.headrace_subscriptions)
    ORDER BY o.shard, o.id
    LIMIT $1
) AS o
JOIN {{schema}}.headrace_subscriptions AS s ON s.topic = o.topic
WHERE NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_outbox AS t WHERE t.outbox = 'local/' || s.consumer AND t.shard = o.shard AND t.id = o.id)
    AND NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_outbox_held AS t WHERE t.outbox = 'local/' || s.consumer AND t.shard = o.shard AND t.id = o.id)
