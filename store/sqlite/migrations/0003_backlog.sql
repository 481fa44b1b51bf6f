-- SQLite has no sequences. Ids must go up even when a table runs empty, because a
-- worker remembers how far it has read; so the last id given stands in a row.
CREATE TABLE {{schema}}.headrace_sequences (
    name TEXT NOT NULL PRIMARY KEY,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO {{schema}}.headrace_sequences (name, last) VALUES ('backlog', 0), ('outbox', 0);
-- The durable work list. Ready rows (line 'ready') stand in one partial index that
-- leads with what a worker asks for; delayed and blocked rows stand in others, so
-- that a look for work never walks over them. id comes from a sequence, and a row
-- gets a new one each time that it becomes ready.
-- The large columns stand last: SQLite reads a row from its start.
CREATE TABLE {{schema}}.headrace_backlog (
    id          INTEGER NOT NULL,
    consumer    TEXT NOT NULL,
    shard       INTEGER NOT NULL CHECK (shard >= 0 AND shard < 16),
    line        TEXT NOT NULL CHECK (line IN ('ready', 'delayed', 'blocked')),
    due_at      INTEGER, -- of a delayed row
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
    coordinates TEXT NOT NULL, -- JSON
    metadata    BLOB NOT NULL,
    payload     BLOB NOT NULL,
    PRIMARY KEY (scope, key),
    CHECK ((line = 'delayed') = (due_at IS NOT NULL)),
    CHECK (line <> 'blocked' OR (strict AND order_key <> ''))
) STRICT;
CREATE UNIQUE INDEX {{schema}}.headrace_backlog_row ON headrace_backlog (id);
CREATE INDEX {{schema}}.headrace_backlog_ready ON headrace_backlog (consumer, shard, id) WHERE line = 'ready';
CREATE INDEX {{schema}}.headrace_backlog_due ON headrace_backlog (consumer, due_at) WHERE line = 'delayed';
CREATE INDEX {{schema}}.headrace_backlog_order ON headrace_backlog (scope, order_key, id) WHERE strict AND order_key <> '';
