-- What of the consumer waits in the backlog, whole.
SELECT id, key, message_id, payload, metadata, coordinates, 'waiting' FROM headrace_backlog
WHERE consumer = $3 AND id > $1 ORDER BY id LIMIT $2
