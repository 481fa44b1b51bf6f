-- The shard is the transaction's until it ends. What the holder before committed is
-- seen by the statements after this one. The idle timeout ($2, in ms; 0 leaves the
-- server's) takes the shard from a process that was stopped.
SELECT pg_try_advisory_xact_lock($1),
    CASE WHEN $2::bigint > 0 THEN set_config('idle_in_transaction_session_timeout', $2::bigint::text, true) END
