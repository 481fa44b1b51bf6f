-- Ends every connection of the children.
SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'torture' AND backend_type = 'client backend' AND pid <> pg_backend_pid()) AS ended
