-- Messages given up, whole. AUTOINCREMENT: the number of a letter names it for
-- ever, in audit rows and in people's notes, and is never given to another.
-- The large columns stand last: SQLite reads a row from its start.
CREATE TABLE {{schema}}.headrace_dead_letters (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    state       TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'redriven', 'discarded')),
    class       TEXT NOT NULL CHECK (class IN ('exhausted', 'permanent', 'conflict', 'undecodable')),
    consumer    TEXT NOT NULL,
    handler     TEXT NOT NULL,
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL,
    order_key   TEXT NOT NULL,
    strict      INTEGER NOT NULL CHECK (strict IN (0, 1)),
    fingerprint TEXT NOT NULL,
    first_print TEXT NOT NULL,
    message_id  TEXT NOT NULL,
    topic       TEXT NOT NULL,
    trace_parent TEXT NOT NULL,
    trace_state  TEXT NOT NULL,
    error_print TEXT NOT NULL,
    attempts    INTEGER NOT NULL,
    first_failure INTEGER NOT NULL,
    last_failure  INTEGER NOT NULL,
    previous_id INTEGER NOT NULL,
    redrives    INTEGER NOT NULL,
    host        TEXT NOT NULL,
    build       TEXT NOT NULL,
    created_at  INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    changed_at  INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    coordinates TEXT NOT NULL, -- JSON
    error       TEXT NOT NULL,
    chain       TEXT NOT NULL, -- JSON array of strings
    stack       TEXT NOT NULL,
    metadata    BLOB NOT NULL,
    payload     BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX {{schema}}.headrace_dead_letters_open ON headrace_dead_letters (scope, key, fingerprint) WHERE state = 'open';
CREATE INDEX {{schema}}.headrace_dead_letters_group ON headrace_dead_letters (error_print, id) WHERE state = 'open';
CREATE INDEX {{schema}}.headrace_dead_letters_open_id ON headrace_dead_letters (id) WHERE state = 'open';
CREATE INDEX {{schema}}.headrace_dead_letters_key ON headrace_dead_letters (key);
