-- Whether watermill-sql's subscriber can see all rows: it reads those of transactions
-- older than any that is open in the cluster.
SELECT COALESCE(max(transaction_id::text::bigint), 0) < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
FROM watermill_forwarder_topic
