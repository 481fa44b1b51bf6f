-- Dead letters with numbers from $1 up to $2 of $3: five outages, one after the other,
-- with a tenth of all letters each, then a hundred other reasons in turn. Each has its
-- dead message in the inbox.
WITH letter AS (
    SELECT g.n, md5(g.n::text) AS print,
        md5('reason ' || CASE WHEN g.n * 10 / $3::bigint < 5 THEN g.n * 10 / $3::bigint ELSE 10 + g.n % 100 END) AS reason
    FROM generate_series($1::bigint, $2::bigint - 1) AS g (n)
), message AS (
    INSERT INTO headrace_inbox (scope, key, state, fingerprint)
    SELECT 'billing/orders_paid', l.print::uuid::text, 'dead', l.print FROM letter AS l
)
INSERT INTO headrace_dead_letters
    (class, consumer, handler, scope, key, order_key, strict, fingerprint, first_fingerprint, message_id, topic, payload,
     metadata, coordinates, trace_parent, trace_state, error, error_fingerprint, chain, stack, attempts,
     first_failure, last_failure, previous_id, redrives, host, build, environment, reply_topic)
SELECT 'exhausted', 'billing', 'orders_paid', 'billing/orders_paid', l.print::uuid::text, '', false, l.print, '',
    l.print::uuid::text, 'orders_paid', convert_to('{"id":"' || l.print || '","note":"' || repeat('x', 250) || '"}', 'UTF8'),
    '{}', '{}', '', '', 'charge the card: the service answered 502 to the request of ' || l.print, left(l.reason, 16),
    '["*fmt.wrapError: charge the card","*http.StatusError: 502"]', '', 5,
    now() - interval '1 hour', now(), 0, 0, 'host-1', 'v1.0.0', '', ''
FROM letter AS l
ORDER BY l.n
