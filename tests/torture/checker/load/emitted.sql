INSERT INTO emitted VALUES ($1, $2, $3)
