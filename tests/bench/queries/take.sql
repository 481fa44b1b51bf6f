-- The inbox by hand: no row where the message was handled before.
INSERT INTO bench_inbox (consumer, message_id) VALUES ($1, $2) ON CONFLICT DO NOTHING
