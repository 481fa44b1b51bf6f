-- In the transaction of the migration itself.
INSERT INTO {{schema}}.headrace_migrations (version, name, checksum) VALUES ($1, $2, $3) RETURNING applied_at
