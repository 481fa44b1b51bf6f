INSERT INTO effects (msg_id, topic, amount, sum) VALUES ($1, $2, $3, $4)
