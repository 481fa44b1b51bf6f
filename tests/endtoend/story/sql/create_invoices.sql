-- What orders become. No unique index: an effect that was applied twice must show.
CREATE TABLE IF NOT EXISTS invoices (
    key         text NOT NULL, -- the message's key
    message_id  text NOT NULL,
    shop        text NOT NULL,
    order_id    bigint NOT NULL,
    order_name  text NOT NULL,
    email       text NOT NULL,
    currency    text NOT NULL,
    total_minor bigint NOT NULL, -- in the currency's smallest unit
    lines       integer NOT NULL
)
