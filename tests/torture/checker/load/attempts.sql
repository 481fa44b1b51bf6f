INSERT INTO attempts VALUES ($1, $2, $3, $4)
