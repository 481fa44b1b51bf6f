-- The sort of an index in memory, for the transaction.
SET LOCAL maintenance_work_mem = '512MB'
