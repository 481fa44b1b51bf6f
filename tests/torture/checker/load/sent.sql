INSERT INTO sent VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
