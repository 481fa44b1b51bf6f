UPDATE sent SET outcome = $2 WHERE id = $1
