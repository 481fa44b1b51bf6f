-- The messages that have taken effect.
SELECT order_id FROM bench_invoices
