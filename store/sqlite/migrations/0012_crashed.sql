-- A class of letters: the handler ended its process. SQLite cannot change a CHECK:
-- the table is written again, and goes on counting where it was.
CREATE TABLE {{schema}}.headrace_dead_letters_new (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    state       TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'redriven', 'discarded')),
    class       TEXT NOT NULL CHECK (class IN ('exhausted', 'permanent', 'conflict', 'undecodable', 'crashed')),
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
    reply_topic TEXT NOT NULL DEFAULT '',
    coordinates TEXT NOT NULL, -- JSON
    error       TEXT NOT NULL,
    chain       TEXT NOT NULL, -- JSON array of strings
    stack       TEXT NOT NULL,
    metadata    BLOB NOT NULL,
    payload     BLOB NOT NULL
) STRICT;
INSERT INTO {{schema}}.headrace_dead_letters_new (id, state, class, consumer, handler, scope, key, order_key, strict, fingerprint, first_print, message_id, topic,
    trace_parent, trace_state, error_print, attempts, first_failure, last_failure, previous_id, redrives, host, build,
    created_at, changed_at, reply_topic, coordinates, error, chain, stack, metadata, payload)
SELECT id, state, class, consumer, handler, scope, key, order_key, strict, fingerprint, first_print, message_id, topic,
    trace_parent, trace_state, error_print, attempts, first_failure, last_failure, previous_id, redrives, host, build,
    created_at, changed_at, reply_topic, coordinates, error, chain, stack, metadata, payload FROM {{schema}}.headrace_dead_letters;
-- An id is never given twice, not even where the newest letter is gone.
DELETE FROM {{schema}}.sqlite_sequence WHERE name = 'headrace_dead_letters_new';
UPDATE {{schema}}.sqlite_sequence SET name = 'headrace_dead_letters_new' WHERE name = 'headrace_dead_letters';
DROP TABLE {{schema}}.headrace_dead_letters;
ALTER TABLE {{schema}}.headrace_dead_letters_new RENAME TO headrace_dead_letters;
CREATE UNIQUE INDEX {{schema}}.headrace_dead_letters_open ON headrace_dead_letters (scope, key, fingerprint) WHERE state = 'open';
CREATE INDEX {{schema}}.headrace_dead_letters_group ON headrace_dead_letters (error_print, id) WHERE state = 'open';
CREATE INDEX {{schema}}.headrace_dead_letters_open_id ON headrace_dead_letters (id) WHERE state = 'open';
CREATE INDEX {{schema}}.headrace_dead_letters_key ON headrace_dead_letters (key);
