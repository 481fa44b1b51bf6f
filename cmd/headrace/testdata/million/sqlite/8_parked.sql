-- A parked event for a hundred of $1 letters.
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < $1 / 100)
INSERT INTO headrace_outbox_held (outbox, shard, id, reason, attempts, error, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, created_at)
SELECT 'default', n % 64, $1 + n, 'parked', 3, 'refused', 'p' || n, 'invoices', '', x'7b7d', x'7b7d', '', '', 1 FROM s
