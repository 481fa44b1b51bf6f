-- Ends the sessions that a test has left open, and those that still say goodbye; waits until they have ended.
SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()
