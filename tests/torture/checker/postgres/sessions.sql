-- Connections of the children, and the age of their oldest transaction in seconds.
SELECT count(*), coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'torture'
