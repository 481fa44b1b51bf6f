-- One process at a time migrates a schema. The lock is the session's, because an index is
-- built outside of a transaction, and a statement that waited for it would deadlock with
-- the build, which waits for the end of older statements.
SELECT pg_try_advisory_lock($1)
