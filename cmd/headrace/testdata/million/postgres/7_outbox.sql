-- An event that waits for ten of $1 letters.
INSERT INTO headrace_outbox (outbox, shard, message_id, topic, order_key, payload, metadata, trace_parent, trace_state)
SELECT 'default', n % 64, 'e' || n, 'invoices', '', '\x7b7d', '\x7b7d', '', '' FROM generate_series(1, $1::bigint / 10) AS n
