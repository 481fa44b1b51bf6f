-- What was applied, in order.
SELECT version, name, checksum, applied_at FROM {{schema}}.headrace_migrations ORDER BY version
