-- The effect of a message, as in create_invoices.
CREATE TABLE bench_invoices (
    id          INTEGER PRIMARY KEY,
    order_id    TEXT NOT NULL,
    currency    TEXT NOT NULL,
    total_cents INTEGER NOT NULL,
    created_at  TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) STRICT
