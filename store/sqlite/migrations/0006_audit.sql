-- Who did what to a dead letter, and why.
CREATE TABLE {{schema}}.headrace_audit (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    letter_id INTEGER NOT NULL,
    action    TEXT NOT NULL CHECK (action IN ('redrive', 'discard')),
    by_whom   TEXT NOT NULL,
    reason    TEXT NOT NULL,
    new_key   TEXT NOT NULL DEFAULT '',
    at        INTEGER NOT NULL DEFAULT (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000)
) STRICT;
CREATE INDEX {{schema}}.headrace_audit_letter ON headrace_audit (letter_id, id);
