-- Letters of a filter in a window, newest first, without their large columns. The window is of
-- a source, as in letters_window.
SELECT l.id, l.state, l.class, l.consumer, l.handler, l.scope, l.key, l.order_key, l.strict, l.fingerprint, l.first_fingerprint,
    l.message_id, l.topic, NULL, NULL, l.coordinates, l.trace_parent, l.trace_state, l.error, l.error_fingerprint,
    l.chain, '', l.attempts, l.first_failure, l.last_failure, l.previous_id, l.redrives, l.host, l.build, l.environment,
    l.created_at, l.changed_at, l.reply_topic, l.deliveries, l.rev, NULL, NULL
FROM (
    {{letters_in_window}}
) AS l
WHERE {{letters_chosen}}
    AND {{letters_hold}}
ORDER BY l.id DESC
LIMIT $19
