-- A letter, whole, with its newest edit.
SELECT l.id, l.state, l.class, l.consumer, l.handler, l.scope, l.key, l.order_key, l.strict, l.fingerprint, l.first_fingerprint,
    l.message_id, l.topic, l.payload, l.metadata, l.coordinates, l.trace_parent, l.trace_state, l.error, l.error_fingerprint,
    l.chain, l.stack, l.attempts, l.first_failure, l.last_failure, l.previous_id, l.redrives, l.host, l.build, l.environment,
    l.created_at, l.changed_at, l.reply_topic, l.deliveries, l.rev, e.payload, e.metadata
FROM {{schema}}.headrace_dead_letters AS l
LEFT JOIN {{schema}}.headrace_letter_edits AS e ON e.letter_id = l.id AND e.rev = l.rev
WHERE l.id = $1
