-- A webhook is about to be handed out. Repeated after a commit of unknown outcome, it changes nothing.
INSERT INTO orders_deliveries (run, n, message_id, intent, fact) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (run, n) DO NOTHING
