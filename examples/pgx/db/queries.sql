-- name: AddInvoice :exec
INSERT INTO invoices (order_id, total) VALUES ($1, $2);

-- name: AddLines :copyfrom
INSERT INTO lines (order_id, item) VALUES ($1, $2);

-- name: Count :one
SELECT (SELECT count(*) FROM invoices) AS invoices, (SELECT count(*) FROM lines) AS lines;
