-- A message that waits for ten of $1 letters: half are ready, half retry later.
INSERT INTO headrace_backlog (id, place, consumer, shard, status, due_at, handler, scope, key, order_key, strict, fingerprint, message_id, topic,
    payload, metadata, coordinates, trace_parent, trace_state, attempt, spent, reruns, error_fingerprint, letter_id, redrives, reply_topic, token)
SELECT n, n, 'billing', n % 64, CASE n % 2 WHEN 0 THEN 'ready' ELSE 'delayed' END, CASE n % 2 WHEN 1 THEN now() + interval '1 day' END, 'h' || n % 8,
    'billing/h' || n % 8, 'message' || n, '', false, 'f', 'm' || n, 'orders', convert_to(repeat('x', 250), 'UTF8'), '\x7b7d', '{}', '', '',
    1 + n % 2, 0, 0, CASE n % 2 WHEN 1 THEN lpad(to_hex((n % 400 + 1) * 22345678901234567), 16, '0') ELSE '' END, 0, 0, '', ''
FROM generate_series(1, $1::bigint / 10) AS n
