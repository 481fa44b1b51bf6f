INSERT INTO backlog VALUES ($1, $2)
