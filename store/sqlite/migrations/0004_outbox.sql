-- Events to publish, the ready line: one index, and rows that live shortly.
CREATE TABLE {{schema}}.headrace_outbox (
    shard      INTEGER NOT NULL CHECK (shard >= 0 AND shard < 16),
    id         INTEGER NOT NULL, -- of the sequence 'outbox'
    message_id TEXT NOT NULL,
    topic      TEXT NOT NULL,
    order_key  TEXT NOT NULL,
    trace_parent TEXT NOT NULL,
    trace_state  TEXT NOT NULL,
    created_at INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    metadata   BLOB NOT NULL,
    payload    BLOB NOT NULL,
    PRIMARY KEY (shard, id)
) STRICT;
-- Events held back: delayed, refused by the sink and tried again later, parked, or
-- behind one of those. A held row keeps its id, and with it its place in the order.
-- The large columns stand last: SQLite reads a row from its start.
CREATE TABLE {{schema}}.headrace_outbox_held (
    shard      INTEGER NOT NULL CHECK (shard >= 0 AND shard < 16),
    id         INTEGER NOT NULL,
    reason     TEXT NOT NULL CHECK (reason IN ('delayed', 'backoff', 'parked', 'behind')),
    due_at     INTEGER, -- of delayed and backoff rows
    attempts   INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    topic      TEXT NOT NULL,
    order_key  TEXT NOT NULL,
    trace_parent TEXT NOT NULL,
    trace_state  TEXT NOT NULL,
    created_at INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    error      TEXT NOT NULL,
    metadata   BLOB NOT NULL,
    payload    BLOB NOT NULL,
    PRIMARY KEY (shard, id),
    CHECK ((reason IN ('delayed', 'backoff')) = (due_at IS NOT NULL)),
    CHECK (reason <> 'behind' OR order_key <> '')
) STRICT;
CREATE INDEX {{schema}}.headrace_outbox_held_due ON headrace_outbox_held (shard, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX {{schema}}.headrace_outbox_held_order ON headrace_outbox_held (shard, topic, order_key, id) WHERE reason <> 'delayed' AND order_key <> '';
CREATE INDEX {{schema}}.headrace_outbox_held_waits ON headrace_outbox_held (shard, topic, order_key, id) WHERE order_key <> '' AND reason IN ('backoff', 'parked');
CREATE INDEX {{schema}}.headrace_outbox_held_parked ON headrace_outbox_held (id) WHERE reason = 'parked';
