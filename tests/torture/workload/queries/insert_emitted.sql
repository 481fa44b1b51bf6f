INSERT INTO emitted (event_id, cause, sum) VALUES ($1, $2, $3)
