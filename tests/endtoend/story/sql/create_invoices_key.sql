-- For people who look for one invoice, and for the figures.
CREATE INDEX IF NOT EXISTS invoices_key ON invoices (key)
