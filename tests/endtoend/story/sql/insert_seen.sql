-- One of them.
INSERT INTO orders_seen (place, intent, fact) VALUES ($1, $2, $3)
