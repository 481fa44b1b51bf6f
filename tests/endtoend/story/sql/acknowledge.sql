-- Everything up to n is acknowledged.
DELETE FROM orders_in_flight WHERE run = $1 AND n <= $2
