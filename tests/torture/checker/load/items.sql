INSERT INTO items VALUES ($1, $2, $3)
