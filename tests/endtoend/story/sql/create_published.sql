-- The journal: everything that the relay published, the same message as often as it did. Rows are only added.
CREATE TABLE IF NOT EXISTS orders_published (
    topic        text NOT NULL,
    message_id   text NOT NULL,
    published_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP
)
