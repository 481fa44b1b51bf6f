-- The effects of a batch, given as a JSON array of events.
INSERT INTO bench_invoices (order_id, currency, total_cents)
SELECT e.value->>'order_id', e.value->>'currency', e.value->>'total_cents' FROM json_each(?1) AS e
