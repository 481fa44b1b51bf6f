-- No unique indexes: an order that was applied twice has two rows, and shows.
CREATE TABLE IF NOT EXISTS invoices (order_id text NOT NULL, total bigint NOT NULL);
CREATE TABLE IF NOT EXISTS lines (order_id text NOT NULL, item text NOT NULL);
