-- Where each message is. The hot table: one row for every message, and the table is
-- its own index. Text compares by bytes (BINARY is SQLite's default collation), and
-- every time is in microseconds since 1970, by SQLite's clock, which counts whole
-- milliseconds: what is due at a time is due in the millisecond of that time.
CREATE TABLE {{schema}}.headrace_inbox (
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL CHECK (key <> '' AND octet_length(key) <= 512),
    state       TEXT NOT NULL DEFAULT 'done' CHECK (state IN ('done', 'waiting', 'dead', 'discarded')),
    fingerprint TEXT NOT NULL,
    stale       INTEGER NOT NULL DEFAULT 0 CHECK (stale IN (0, 1)),
    changed_at  INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
-- The few rows that are not done are looked for by checks and by operators.
CREATE INDEX {{schema}}.headrace_inbox_open ON headrace_inbox (state, scope) WHERE state <> 'done';
