-- The journal: what was handed out and is not acknowledged, whole, so that it can be handed out again.
CREATE TABLE IF NOT EXISTS orders_in_flight (
    run      text NOT NULL,
    n        bigint NOT NULL,
    envelope bytea NOT NULL, -- JSON: id, order key, headers, coordinates
    payload  bytea NOT NULL,
    PRIMARY KEY (run, n)
)
