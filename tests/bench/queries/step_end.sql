-- By hand, after the call: it is done.
UPDATE bench_steps SET state = 'done', result = $3 WHERE message_id = $1 AND step = $2
