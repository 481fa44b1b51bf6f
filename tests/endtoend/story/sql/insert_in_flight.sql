-- And this is how it looks, until it is acknowledged.
INSERT INTO orders_in_flight (run, n, envelope, payload) VALUES ($1, $2, $3, $4)
ON CONFLICT (run, n) DO NOTHING
