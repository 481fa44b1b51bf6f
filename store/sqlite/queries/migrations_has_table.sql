-- Whether anything was ever applied to this file.
SELECT EXISTS (SELECT 1 FROM {{schema}}.sqlite_schema WHERE type = 'table' AND name = 'headrace_migrations')
