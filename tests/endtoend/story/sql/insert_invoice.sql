-- The effect of one paid order.
INSERT INTO invoices (key, message_id, shop, order_id, order_name, email, currency, total_minor, lines)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
