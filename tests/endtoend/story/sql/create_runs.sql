-- The journal: one row for each run of the example. beat grows while the run lives.
CREATE TABLE IF NOT EXISTS orders_runs (
    run        text PRIMARY KEY,
    beat       bigint NOT NULL DEFAULT 0,
    started_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP
)
