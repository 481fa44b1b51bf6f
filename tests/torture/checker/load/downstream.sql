INSERT INTO downstream VALUES ($1, $2, $3, $4, $5)
