-- The record of what was applied to this file.
CREATE TABLE IF NOT EXISTS {{schema}}.headrace_migrations (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    checksum   TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT
