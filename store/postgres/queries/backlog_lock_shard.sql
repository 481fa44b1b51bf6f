-- The shard is the transaction's until it ends. What the holder before committed is
-- seen by the statements after this one. The limits ($2 and $3, in ms; 0 leaves the
-- server's) ride along: they take the shard from a process that was stopped.
SELECT pg_try_advisory_xact_lock($1), {{schema}}.headrace_limits($2, $3)
