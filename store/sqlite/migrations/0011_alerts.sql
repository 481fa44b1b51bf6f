-- Alerts that wait to be passed on. Work only appends.
CREATE TABLE {{schema}}.headrace_alerts (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    kind       TEXT NOT NULL,
    consumer   TEXT NOT NULL,
    handler    TEXT NOT NULL,
    topic      TEXT NOT NULL,
    said       TEXT NOT NULL,
    grp        TEXT NOT NULL,
    at         INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000)
) STRICT;
CREATE INDEX {{schema}}.headrace_alerts_waiting ON headrace_alerts (consumer, grp, id);
-- When one of each group was last passed on.
CREATE TABLE {{schema}}.headrace_alert_groups (
    consumer  TEXT NOT NULL,
    grp       TEXT NOT NULL,
    passed_at INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    PRIMARY KEY (consumer, grp)
) STRICT, WITHOUT ROWID;
