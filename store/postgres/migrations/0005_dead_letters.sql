-- Messages given up, whole.
CREATE TABLE {{schema}}.headrace_dead_letters (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state       text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'redriven', 'discarded')),
    class       text NOT NULL CHECK (class IN ('exhausted', 'permanent', 'conflict', 'undecodable')),
    consumer    text COLLATE "C" NOT NULL,
    handler     text COLLATE "C" NOT NULL,
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    order_key   text COLLATE "C" NOT NULL,
    strict      boolean NOT NULL,
    fingerprint text NOT NULL,
    first_print text NOT NULL,
    message_id  text NOT NULL,
    topic       text NOT NULL,
    payload     bytea NOT NULL,
    metadata    bytea NOT NULL,
    coordinates text NOT NULL, -- JSON
    trace_parent text NOT NULL,
    trace_state  text NOT NULL,
    error       text NOT NULL,
    error_print text NOT NULL,
    chain       text NOT NULL, -- JSON array of strings
    stack       text NOT NULL,
    attempts    integer NOT NULL,
    first_failure timestamptz NOT NULL,
    last_failure  timestamptz NOT NULL,
    previous_id bigint NOT NULL,
    redrives    integer NOT NULL,
    host        text NOT NULL,
    build       text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX headrace_dead_letters_open ON {{schema}}.headrace_dead_letters (scope, key, fingerprint) WHERE state = 'open';
CREATE INDEX headrace_dead_letters_group ON {{schema}}.headrace_dead_letters (error_print, id) WHERE state = 'open';
CREATE INDEX headrace_dead_letters_open_id ON {{schema}}.headrace_dead_letters (id) WHERE state = 'open';
CREATE INDEX headrace_dead_letters_key ON {{schema}}.headrace_dead_letters (key);
