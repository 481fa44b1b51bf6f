-- The rows that this connection has written, into tables of the program and ours. Only the
-- difference of two answers in one transaction says something.
SELECT total_changes()
