-- A transaction has the whole file: it waits for no lock, and there is no server that would
-- have limits.
SELECT '' WHERE $1 >= 0 AND $2 >= 0 AND $3 >= 0
