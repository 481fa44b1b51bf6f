-- The shard is the transaction's until it ends. What the holder before committed is
-- seen by the statements after this one.
SELECT pg_try_advisory_xact_lock($1)
