-- What autovacuum does with tables that have grown.
VACUUM (ANALYZE)
