-- Letters of a filter, newest first, without their large columns.
SELECT l.id, l.state, l.class, l.consumer, l.handler, l.scope, l.key, l.order_key, l.strict, l.fingerprint, l.first_fingerprint,
    l.message_id, l.topic, NULL, NULL, l.coordinates, l.trace_parent, l.trace_state, l.error, l.error_fingerprint,
    l.chain, '', l.attempts, l.first_failure, l.last_failure, l.previous_id, l.redrives, l.host, l.build, l.environment,
    l.created_at, l.changed_at, l.reply_topic, l.deliveries
FROM {{schema}}.headrace_dead_letters AS l
WHERE ($1 = '' OR l.state = $1)
    AND (json_array_length($2) = 0 OR l.id IN (SELECT r.value FROM json_each($2) AS r))
    AND ($3 = '' OR l.consumer = $3)
    AND ($4 = '' OR l.handler = $4)
    AND ($5 = '' OR l.topic = $5)
    AND ($6 = '' OR l.class = $6)
    AND ($7 = '' OR l.error_fingerprint = $7)
    AND ($8 = '' OR l.key = $8)
    AND ($9 IS NULL OR l.created_at >= $9)
    AND ($10 IS NULL OR l.created_at < $10)
    AND ($11 = 0 OR l.id < $11)
ORDER BY l.id DESC
LIMIT $12
