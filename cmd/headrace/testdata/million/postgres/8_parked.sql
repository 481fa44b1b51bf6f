-- A parked event for a hundred of $1 letters.
INSERT INTO headrace_outbox_held (outbox, shard, reason, attempts, error, message_id, topic, order_key, payload, metadata, trace_parent, trace_state)
SELECT 'default', n % 64, 'parked', 3, 'refused', 'p' || n, 'invoices', '', '\x7b7d', '\x7b7d', '', '' FROM generate_series(1, $1::bigint / 100) AS n
