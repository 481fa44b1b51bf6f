-- An event that waits for ten of $1 letters.
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < $1 / 10)
INSERT INTO headrace_outbox (outbox, shard, id, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, created_at)
SELECT 'default', n % 64, n, 'e' || n, 'invoices', '', x'7b7d', x'7b7d', '', '', 1 FROM s
