INSERT INTO effects VALUES ($1, $2, $3, $4)
