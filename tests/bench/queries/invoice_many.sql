-- The effects of a batch.
INSERT INTO bench_invoices (order_id, currency, total_cents)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])
