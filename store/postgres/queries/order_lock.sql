-- The order of some keys is the transaction's until it ends. All callers take the
-- numbers upwards, so that two of them never wait for each other.
SELECT pg_advisory_xact_lock(o.number)
FROM (SELECT u.number FROM unnest($1::bigint[]) AS u (number) ORDER BY u.number) AS o
