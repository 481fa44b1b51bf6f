-- What the work by hand left: handled messages, effects, orders with an effect, events.
SELECT (SELECT count(*) FROM bench_inbox), count(*), count(DISTINCT order_id),
    (SELECT count(DISTINCT payload->>'order_id') FROM watermill_invoices_created)
FROM bench_invoices
