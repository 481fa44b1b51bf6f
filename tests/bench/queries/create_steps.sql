-- The record by hand of calls to another system.
CREATE TABLE bench_steps (
    message_id text NOT NULL,
    step       text NOT NULL,
    state      text NOT NULL,
    result     text,
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (message_id, step)
)
