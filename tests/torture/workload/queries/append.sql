-- A lost update, a duplicate and an inversion all show in the text.
INSERT INTO lists (key, items) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET items = lists.items || ' ' || $2
