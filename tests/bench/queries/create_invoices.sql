-- The effect of a message, the same table for both sides. It would take an order
-- twice, so that counting shows what was applied twice.
CREATE TABLE bench_invoices (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id    text NOT NULL,
    currency    text NOT NULL,
    total_cents bigint NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
)
