-- Ends the sessions that a test has left open, and those that still say goodbye. It does not wait until they have ended.
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()
