-- Runs that failed. Only failures pay for it.
CREATE TABLE {{schema}}.headrace_attempts (
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL,
    n           INTEGER NOT NULL CHECK (n >= 1),
    class       TEXT NOT NULL,
    error       TEXT NOT NULL,
    error_type  TEXT NOT NULL,
    duration_us INTEGER NOT NULL,
    host        TEXT NOT NULL,
    build       TEXT NOT NULL,
    trace_parent TEXT NOT NULL DEFAULT '',
    trace_state  TEXT NOT NULL DEFAULT '',
    at          INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    PRIMARY KEY (scope, key, n)
) STRICT;
