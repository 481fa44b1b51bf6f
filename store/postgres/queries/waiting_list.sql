-- Rows with an id above $1 and up to $2, without payload and metadata. An attempt is found
-- by its primary key.
SELECT b.id, b.place, b.handler, b.scope, COALESCE(b.key, ''), b.order_key, b.strict, COALESCE(b.fingerprint, ''), b.message_id, b.topic,
    NULL::bytea, NULL::bytea, b.coordinates, b.trace_parent, b.trace_state, b.attempt, b.spent, b.reruns,
    COALESCE((extract(epoch FROM {{now}} - b.postponed_at) * 1000000)::bigint, 0), b.letter_id, b.redrives, b.reply_topic,
    b.consumer, b.status, b.due_at, b.postponed_at, b.reason, b.ready_at, b.error_fingerprint,
    COALESCE((
        SELECT a.error FROM {{schema}}.headrace_attempts AS a
        WHERE b.error_fingerprint <> '' AND a.scope = b.scope AND a.key = b.key
        ORDER BY a.n DESC
        LIMIT 1
    ), ''), COALESCE(octet_length(b.payload), 0)
FROM {{schema}}.headrace_backlog AS b
WHERE b.id > $1 AND b.id <= $2
    AND ($4::text = '' OR b.consumer = $4::text) AND ($5::text = '' OR b.handler = $5::text) AND ($6::text = '' OR b.status = $6::text)
ORDER BY b.id
LIMIT $3
