-- Rows of the line 'local/' whose topic has subscriptions by now, held ones: each
-- subscription gets its copy, with the id of the row. At most $1 of them.
WITH chosen AS MATERIALIZED (
    SELECT o.shard, o.id FROM {{schema}}.headrace_outbox_held AS o
    WHERE o.outbox = 'local/' AND EXISTS (SELECT FROM {{schema}}.headrace_subscriptions AS s WHERE s.topic = o.topic)
    ORDER BY o.shard, o.id
    LIMIT $1
    FOR UPDATE
), copied AS (
    INSERT INTO {{schema}}.headrace_outbox_held (outbox, shard, id, reason, due_at, attempts, error, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, created_at)
    SELECT 'local/' || s.consumer, o.shard, o.id, o.reason, o.due_at, o.attempts, o.error, o.message_id, o.topic, o.order_key, o.payload, o.metadata, o.trace_parent, o.trace_state, o.created_at
    FROM chosen
    JOIN {{schema}}.headrace_outbox_held AS o ON o.outbox = 'local/' AND o.shard = chosen.shard AND o.id = chosen.id
    JOIN {{schema}}.headrace_subscriptions AS s ON s.topic = o.topic
)
DELETE FROM {{schema}}.headrace_outbox_held AS o
USING chosen
WHERE o.outbox = 'local/' AND o.shard = chosen.shard AND o.id = chosen.id
