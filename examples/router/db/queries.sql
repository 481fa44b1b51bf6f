-- name: AddInvoice :exec
INSERT INTO invoices (order_id, total) VALUES (?, ?);
