-- outbox_insert for an event that is held for $12 microseconds.
INSERT INTO {{schema}}.headrace_outbox_held
    (outbox, shard, id, reason, due_at, attempts, error, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, created_at, copied)
SELECT line.outbox, $1, s.last - $9, 'delayed', ({{now}} + $12) / 1000 * 1000, 0, '', $2, $3, $4, $5, $6, $7, $8, {{now}}, line.copied
FROM (
    SELECT $10 AS outbox, EXISTS (SELECT 1 FROM {{schema}}.headrace_subscriptions WHERE topic = $3) AS copied WHERE NOT $11
    UNION ALL
    SELECT 'local/' || consumer, 0 FROM {{schema}}.headrace_subscriptions WHERE topic = $3
    UNION ALL
    SELECT 'local/', 0 WHERE $11 AND NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_subscriptions WHERE topic = $3)
) AS line
CROSS JOIN {{schema}}.headrace_sequences AS s
WHERE s.name = 'outbox'
