-- An event onto the ready line, with the $9th id before the last that was taken of
-- the sequence: an insert here reads nothing back. It goes into the outbox $10 if it is not
-- local ($11), onto the line of each consumer that is subscribed to its topic, and if it is
-- local and has no subscription onto the line 'local/'.
INSERT INTO {{schema}}.headrace_outbox (outbox, shard, id, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, created_at, copied)
SELECT line.outbox, $1, s.last - $9, $2, $3, $4, $5, $6, $7, $8, {{now}}, line.copied
FROM (
    SELECT $10 AS outbox, EXISTS (SELECT 1 FROM {{schema}}.headrace_subscriptions WHERE topic = $3) AS copied WHERE NOT $11
    UNION ALL
    SELECT 'local/' || consumer, 0 FROM {{schema}}.headrace_subscriptions WHERE topic = $3
    UNION ALL
    SELECT 'local/', 0 WHERE $11 AND NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_subscriptions WHERE topic = $3)
) AS line
CROSS JOIN {{schema}}.headrace_sequences AS s
WHERE s.name = 'outbox'
