-- The server's version, for the report.
SELECT current_setting('server_version')
