-- What is in flight waits at the source: it is handed out again if it is not acknowledged.
INSERT INTO orders_seen (place, intent, fact)
SELECT 'waiting', d.intent, d.fact
FROM orders_in_flight f JOIN orders_deliveries d ON d.run = f.run AND d.n = f.n
