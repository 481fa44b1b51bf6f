-- In the transaction of the migration itself.
INSERT INTO {{schema}}.headrace_migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, {{now}}) RETURNING applied_at
