-- Effects, and orders with an effect.
SELECT count(*), count(DISTINCT order_id) FROM bench_invoices
