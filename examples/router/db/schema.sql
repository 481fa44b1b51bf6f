-- No unique index: an order that was applied twice has two rows, and shows.
CREATE TABLE invoices (
    order_id TEXT NOT NULL,
    total INTEGER NOT NULL
);
