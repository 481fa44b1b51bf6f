-- Processes that run a consumer, and what one was doing in cautious mode.
CREATE TABLE {{schema}}.headrace_instances (
    id            TEXT NOT NULL PRIMARY KEY,
    consumer      TEXT NOT NULL,
    host          TEXT NOT NULL,
    build         TEXT NOT NULL,
    running_scope TEXT NOT NULL DEFAULT '',
    running_key   TEXT NOT NULL DEFAULT '',
    running_at    INTEGER, -- when that was written down
    started_at    INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    beat_at       INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    outlived_at   INTEGER, -- when another one went on as usual after its death
    ended_at      INTEGER  -- when it ended in order
) STRICT, WITHOUT ROWID;
CREATE INDEX {{schema}}.headrace_instances_consumer ON headrace_instances (consumer);
-- Consumers that a person has paused.
CREATE TABLE {{schema}}.headrace_pauses (
    consumer   TEXT NOT NULL PRIMARY KEY,
    by_whom    TEXT NOT NULL,
    reason     TEXT NOT NULL,
    at         INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    resumed_by TEXT NOT NULL DEFAULT '',
    resumed_at INTEGER -- while it is NULL, the consumer is paused
) STRICT, WITHOUT ROWID;
