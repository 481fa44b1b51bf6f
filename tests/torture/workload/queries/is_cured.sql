SELECT count(*) FROM cures WHERE msg_id = $1
