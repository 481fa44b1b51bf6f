INSERT INTO inbox VALUES ($1, $2, $3, $4)
