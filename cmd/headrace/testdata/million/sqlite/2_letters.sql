-- $1 letters of 400 groups in 30 days, of which nine in ten are open.
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < $1)
INSERT INTO headrace_dead_letters (state, class, consumer, handler, scope, key, order_key, strict, fingerprint, first_fingerprint, message_id, topic,
    trace_parent, trace_state, error_fingerprint, attempts, first_failure, last_failure, previous_id, redrives, host, build, environment,
    created_at, changed_at, coordinates, error, chain, stack, metadata, payload)
SELECT CASE WHEN n % 10 = 9 THEN 'discarded' ELSE 'open' END, 'exhausted', 'billing', 'h' || (n % 8), 'billing/h' || (n % 8), 'dead' || n, '', 0, 'f', '',
    'm' || n, 'orders', '', '', printf('%016x', (n % 400 + 1) * 22345678901234567), 1, t, t, 0, 0, 'pod-' || (n % 6), 'v1.' || (n * 8 / $1), '', t, t, '{}',
    'charge order ' || n || ': context deadline exceeded', '[]', '', x'7b7d',
    CAST('{"id":' || n || ',"total":' || (n % 9999) || ',"note":"' || printf('%.200c', 'x') || '"}' AS BLOB)
FROM (SELECT n, (unixepoch() - 2592000) * 1000000 + n * 2592000000000 / $1 AS t FROM s)
