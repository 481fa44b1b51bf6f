-- The relay has published a message.
INSERT INTO orders_published (topic, message_id) VALUES ($1, $2)
