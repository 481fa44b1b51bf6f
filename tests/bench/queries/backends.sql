-- The server's processes that work for this database.
SELECT pid FROM pg_stat_activity WHERE datname = current_database()
