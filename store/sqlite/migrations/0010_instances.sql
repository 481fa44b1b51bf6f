-- Processes that run a consumer, and what one was doing in cautious mode.
CREATE TABLE {{schema}}.headrace_instances (
    id            TEXT NOT NULL PRIMARY KEY,
    consumer      TEXT NOT NULL,
    host          TEXT NOT NULL,
    build         TEXT NOT NULL,
    running_scope TEXT NOT NULL DEFAULT '',
    running_key   TEXT NOT NULL DEFAULT '',
    started_at    INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    beat_at       INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    ended_at      INTEGER
) STRICT, WITHOUT ROWID;
-- Consumers that a person has paused.
CREATE TABLE {{schema}}.headrace_pauses (
    consumer  TEXT NOT NULL PRIMARY KEY,
    by_whom   TEXT NOT NULL,
    reason    TEXT NOT NULL,
    at        INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000)
) STRICT, WITHOUT ROWID;
