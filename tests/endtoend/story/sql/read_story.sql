-- And each run reads the name.
SELECT name FROM orders_stories WHERE one = 1
