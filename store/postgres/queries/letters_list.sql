-- Letters of a filter, newest first, without their large columns.
SELECT l.id, l.state, l.class, l.consumer, l.handler, l.scope, l.key, l.order_key, l.strict, l.fingerprint, l.first_fingerprint,
    l.message_id, l.topic, NULL::bytea, NULL::bytea, l.coordinates, l.trace_parent, l.trace_state, l.error, l.error_fingerprint,
    l.chain, '', l.attempts, l.first_failure, l.last_failure, l.previous_id, l.redrives, l.host, l.build, l.environment,
    l.created_at, l.changed_at, l.reply_topic, l.deliveries
FROM {{schema}}.headrace_dead_letters AS l
WHERE ($1::text = '' OR l.state = $1::text)
    AND (cardinality($2::bigint[]) = 0 OR l.id = ANY ($2::bigint[]))
    AND ($3::text = '' OR l.consumer = $3::text)
    AND ($4::text = '' OR l.handler = $4::text)
    AND ($5::text = '' OR l.topic = $5::text)
    AND ($6::text = '' OR l.class = $6::text)
    AND ($7::text = '' OR l.error_fingerprint = $7::text)
    AND ($8::text = '' OR l.key = $8::text)
    AND ($9::timestamptz IS NULL OR l.created_at >= $9::timestamptz)
    AND ($10::timestamptz IS NULL OR l.created_at < $10::timestamptz)
    AND ($11::bigint = 0 OR l.id < $11::bigint)
ORDER BY l.id DESC
LIMIT $12
