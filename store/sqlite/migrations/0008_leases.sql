-- Rows of handlers that work outside of a transaction stand on a line of their own
-- (leasable), and hold a token while one of them works (leased). SQLite cannot change
-- a CHECK: the table is written again.
CREATE TABLE {{schema}}.headrace_backlog_new (
    id          INTEGER NOT NULL,
    consumer    TEXT NOT NULL,
    shard       INTEGER NOT NULL CHECK (shard >= 0 AND shard < 16),
    line        TEXT NOT NULL CHECK (line IN ('ready', 'delayed', 'blocked', 'leasable', 'leased')),
    due_at      INTEGER, -- of a delayed row, or the end of a lease
    handler     TEXT NOT NULL,
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL,
    order_key   TEXT NOT NULL,
    strict      INTEGER NOT NULL CHECK (strict IN (0, 1)),
    fingerprint TEXT NOT NULL,
    message_id  TEXT NOT NULL,
    topic       TEXT NOT NULL,
    trace_parent TEXT NOT NULL,
    trace_state  TEXT NOT NULL,
    attempt     INTEGER NOT NULL, -- the run to come
    spent       INTEGER NOT NULL, -- attempts before the last redrive
    letter_id   INTEGER NOT NULL, -- redriven from; 0 if not
    redrives    INTEGER NOT NULL,
    ready_at    INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000), -- when it was put on its line
    reply_topic TEXT NOT NULL DEFAULT '',
    token       TEXT NOT NULL DEFAULT '',
    starts      INTEGER NOT NULL DEFAULT 0,
    coordinates TEXT NOT NULL, -- JSON
    metadata    BLOB NOT NULL,
    payload     BLOB NOT NULL,
    PRIMARY KEY (scope, key),
    CHECK ((line IN ('delayed', 'leased')) = (due_at IS NOT NULL)),
    CHECK (line <> 'leased' OR token <> ''),
    CHECK (line <> 'blocked' OR (strict AND order_key <> ''))
) STRICT;
INSERT INTO {{schema}}.headrace_backlog_new (id, consumer, shard, line, due_at, handler, scope, key, order_key, strict, fingerprint, message_id, topic, trace_parent,
    trace_state, attempt, spent, letter_id, redrives, ready_at, reply_topic, coordinates, metadata, payload)
SELECT id, consumer, shard, line, due_at, handler, scope, key, order_key, strict, fingerprint, message_id, topic, trace_parent,
    trace_state, attempt, spent, letter_id, redrives, ready_at, reply_topic, coordinates, metadata, payload FROM {{schema}}.headrace_backlog;
DROP TABLE {{schema}}.headrace_backlog;
ALTER TABLE {{schema}}.headrace_backlog_new RENAME TO headrace_backlog;
CREATE UNIQUE INDEX {{schema}}.headrace_backlog_row ON headrace_backlog (id);
CREATE INDEX {{schema}}.headrace_backlog_ready ON headrace_backlog (consumer, shard, id) WHERE line = 'ready';
CREATE INDEX {{schema}}.headrace_backlog_due ON headrace_backlog (consumer, due_at) WHERE line = 'delayed';
CREATE INDEX {{schema}}.headrace_backlog_order ON headrace_backlog (scope, order_key, id) WHERE strict AND order_key <> '';
CREATE INDEX {{schema}}.headrace_backlog_leasable ON headrace_backlog (consumer, handler, id) WHERE line = 'leasable';
CREATE INDEX {{schema}}.headrace_backlog_leased ON headrace_backlog (consumer, handler, due_at) WHERE line = 'leased';
