-- A message that waits for ten of $1 letters: half are ready, half retry later.
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < $1 / 10)
INSERT INTO headrace_backlog (id, place, consumer, shard, status, due_at, handler, scope, key, order_key, strict, fingerprint, message_id, topic,
    payload, metadata, coordinates, trace_parent, trace_state, attempt, spent, reruns, error_fingerprint, letter_id, redrives, ready_at, reply_topic, token)
SELECT n, n, 'billing', n % 64, CASE n % 2 WHEN 0 THEN 'ready' ELSE 'delayed' END, CASE n % 2 WHEN 1 THEN (unixepoch() + 86400) * 1000000 END, 'h' || (n % 8),
    'billing/h' || (n % 8), 'message' || n, '', 0, 'f', 'm' || n, 'orders', zeroblob(250), x'7b7d', '{}', '', '',
    1 + n % 2, 0, 0, CASE n % 2 WHEN 1 THEN printf('%016x', (n % 400 + 1) * 22345678901234567) ELSE '' END, 0, 0, unixepoch() * 1000000, '', ''
FROM s
