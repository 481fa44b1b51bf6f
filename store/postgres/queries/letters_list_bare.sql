-- letters_list for a login that may not read what messages say, and so not look for it. It
-- walks along the ids: a viewer waits longer for a rare group.
SELECT l.id, l.state, l.class, l.consumer, l.handler, l.scope, l.key, l.order_key, l.strict, l.fingerprint, l.first_fingerprint,
    l.message_id, l.topic, NULL::bytea, NULL::bytea, l.coordinates, l.trace_parent, l.trace_state, l.error, l.error_fingerprint,
    l.chain, '', l.attempts, l.first_failure, l.last_failure, l.previous_id, l.redrives, l.host, l.build, l.environment,
    l.created_at, l.changed_at, l.reply_topic, l.deliveries, l.rev, NULL::bytea, NULL::bytea
FROM {{schema}}.headrace_dead_letters AS l
WHERE l.id > $17::bigint AND l.id < $18::bigint AND ($16::text <> 'ids' OR l.id = ANY ($2::bigint[]))
    AND {{letters_chosen}}
    AND $13::text = '' AND $14::bytea IS NULL AND $15::bytea IS NULL
ORDER BY l.id DESC
LIMIT $19
