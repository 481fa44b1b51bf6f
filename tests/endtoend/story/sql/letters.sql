-- The consumer's dead letters that were not sent on their way again, whole.
SELECT id, key, message_id, payload, metadata, coordinates FROM headrace_dead_letters
WHERE consumer = $3 AND state <> 'redriven' AND id > $1 ORDER BY id LIMIT $2
