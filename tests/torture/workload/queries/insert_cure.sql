INSERT INTO cures (msg_id) VALUES ($1)
