-- What headrace left: done messages, effects, orders with an effect, events.
SELECT (SELECT count(*) FROM headrace_inbox WHERE state = 'done'), count(*), count(DISTINCT order_id),
    (SELECT count(DISTINCT convert_from(payload, 'UTF8')::json->>'order_id') FROM headrace_outbox)
FROM bench_invoices
