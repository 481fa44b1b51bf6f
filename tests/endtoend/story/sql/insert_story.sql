-- The first run names them.
INSERT INTO orders_stories (one, name) VALUES (1, $1) ON CONFLICT (one) DO NOTHING
