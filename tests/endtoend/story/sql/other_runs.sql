-- The other runs that have something in flight, with their beats.
SELECT run, beat FROM orders_runs
WHERE run <> $1 AND EXISTS (SELECT 1 FROM orders_in_flight f WHERE f.run = orders_runs.run)
ORDER BY run
