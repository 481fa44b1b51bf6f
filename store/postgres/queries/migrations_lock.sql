-- One process at a time migrates a schema. Gone with the transaction.
SELECT pg_advisory_xact_lock($1)
