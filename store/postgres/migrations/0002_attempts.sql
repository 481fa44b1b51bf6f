-- Runs that failed. Only failures pay for it.
CREATE TABLE {{schema}}.headrace_attempts (
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    n           integer NOT NULL CHECK (n >= 1),
    class       text NOT NULL,
    error       text NOT NULL,
    error_type  text NOT NULL,
    duration_us bigint NOT NULL,
    host        text NOT NULL,
    build       text NOT NULL,
    trace_parent text NOT NULL DEFAULT '',
    trace_state  text NOT NULL DEFAULT '',
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (scope, key, n)
);
