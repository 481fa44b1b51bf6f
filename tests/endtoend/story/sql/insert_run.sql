-- A run begins.
INSERT INTO orders_runs (run) VALUES ($1)
