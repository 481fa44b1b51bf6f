-- The effect of one message.
INSERT INTO bench_invoices (order_id, currency, total_cents) VALUES (?1, ?2, ?3)
