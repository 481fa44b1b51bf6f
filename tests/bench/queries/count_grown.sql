-- What headrace left among messages of before: as count_headrace.
SELECT (
        SELECT count(*) FROM (SELECT DISTINCT order_id FROM bench_invoices) AS e
        JOIN headrace_inbox AS i ON i.scope = 'billing/orders_paid' AND i.key = e.order_id AND i.state = 'done'
    ), count(*), count(DISTINCT order_id),
    (SELECT count(DISTINCT convert_from(payload, 'UTF8')::json->>'order_id') FROM headrace_outbox)
FROM bench_invoices
