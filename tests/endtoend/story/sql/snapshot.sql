-- The first read of the journal: what is committed elsewhere after this one is not needed to explain it.
SELECT count(*) FROM orders_runs
