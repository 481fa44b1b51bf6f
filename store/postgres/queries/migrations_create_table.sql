-- The record of what was applied to this schema.
CREATE TABLE IF NOT EXISTS {{schema}}.headrace_migrations (
    version    integer PRIMARY KEY,
    name       text NOT NULL,
    checksum   text NOT NULL,
    applied_at timestamptz NOT NULL
)
