-- $1 letters of 400 groups in 30 days, of which nine in ten are open.
INSERT INTO headrace_dead_letters (state, class, consumer, handler, scope, key, order_key, strict, fingerprint, first_fingerprint,
    message_id, topic, payload, metadata, coordinates, trace_parent, trace_state, error, error_fingerprint, chain, stack, attempts,
    first_failure, last_failure, previous_id, redrives, host, build, environment, created_at, changed_at)
SELECT CASE WHEN n % 10 = 9 THEN 'discarded' ELSE 'open' END, 'exhausted', 'billing', 'h' || n % 8, 'billing/h' || n % 8, 'dead' || n, '', false,
    'f', '', 'm' || n, 'orders', convert_to('{"id":' || n || ',"total":' || n % 9999 || ',"note":"' || repeat('x', 200) || '"}', 'UTF8'),
    '\x7b7d', '{}', '', '', 'charge order ' || n || ': context deadline exceeded', lpad(to_hex((n % 400 + 1) * 22345678901234567), 16, '0'), '[]', '', 1,
    t.at, t.at, 0, 0, 'pod-' || n % 6, 'v1.' || n * 8 / $1::bigint, '', t.at, t.at
FROM generate_series(1, $1::bigint) AS n
CROSS JOIN LATERAL (SELECT now() - interval '30 days' * (1 - n::float8 / $1::bigint) AS at) AS t
