-- Alerts that nobody has counted yet. Work only appends. Their namespace is the
-- consumer, or '' for the relay.
CREATE TABLE {{schema}}.headrace_alerts (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    consumer    TEXT NOT NULL,
    grp         TEXT NOT NULL,
    kind        TEXT NOT NULL,
    handler     TEXT NOT NULL,
    topic       TEXT NOT NULL,
    class       TEXT NOT NULL,
    error_print TEXT NOT NULL,
    letter_id   INTEGER NOT NULL,
    at          INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000)
) STRICT;
CREATE INDEX {{schema}}.headrace_alerts_waiting ON headrace_alerts (consumer, id);
-- What is known of each group: the newest of its alerts, how many wait since when,
-- and when it is due.
CREATE TABLE {{schema}}.headrace_alert_groups (
    consumer    TEXT NOT NULL,
    grp         TEXT NOT NULL,
    kind        TEXT NOT NULL,
    handler     TEXT NOT NULL,
    topic       TEXT NOT NULL,
    class       TEXT NOT NULL,
    error_print TEXT NOT NULL,
    letter_id   INTEGER NOT NULL,
    waiting     INTEGER NOT NULL CHECK (waiting >= 0),
    since       INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    failures    INTEGER NOT NULL DEFAULT 0,
    due_at      INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    tried_at    INTEGER,
    passed_at   INTEGER,
    PRIMARY KEY (consumer, grp)
) STRICT, WITHOUT ROWID;
CREATE INDEX {{schema}}.headrace_alert_groups_due ON headrace_alert_groups (consumer, due_at) WHERE waiting > 0;
CREATE INDEX {{schema}}.headrace_alert_groups_tried ON headrace_alert_groups (consumer, tried_at);
-- Who passes on the alerts of a namespace, and until when nobody else does.
CREATE TABLE {{schema}}.headrace_alert_readers (
    consumer    TEXT NOT NULL PRIMARY KEY,
    owner       TEXT NOT NULL,
    until       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
