-- All shards of an outbox or a line are the transaction's until it ends, or some are
-- another's. See outbox_lock_shard.
SELECT bool_and(pg_try_advisory_xact_lock(l.number)) FROM unnest($1::bigint[]) AS l (number)
