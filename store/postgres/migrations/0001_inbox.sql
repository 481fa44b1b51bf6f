-- Where each message is. The hot table: one row for every message, one index.
-- Keys compare by bytes (COLLATE "C"), so that no locale joins two of them.
CREATE TABLE {{schema}}.headrace_inbox (
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL CHECK (key <> '' AND octet_length(key) <= 512),
    state       text NOT NULL DEFAULT 'done' CHECK (state IN ('done', 'waiting', 'dead', 'discarded')),
    fingerprint text NOT NULL,
    stale       boolean NOT NULL DEFAULT false,
    changed_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (scope, key)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_vacuum_scale_factor = 0.02);
-- The few rows that are not done are looked for by checks and by operators.
CREATE INDEX headrace_inbox_open ON {{schema}}.headrace_inbox (state, scope) WHERE state <> 'done';
