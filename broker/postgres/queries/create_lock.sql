-- Two that make the tables at once: CREATE TABLE IF NOT EXISTS alone lets one of them fail. The number is
-- that of nothing else.
SELECT pg_advisory_xact_lock(7204385001)
