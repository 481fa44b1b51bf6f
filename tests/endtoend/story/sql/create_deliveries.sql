-- The journal: everything handed out, the same message as often as it was. Rows are only added.
CREATE TABLE IF NOT EXISTS orders_deliveries (
    run        text NOT NULL,
    n          bigint NOT NULL,
    message_id text NOT NULL,
    intent     text NOT NULL, -- which message it is
    fact       text NOT NULL, -- and what it says
    sent_at    timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (run, n)
)
