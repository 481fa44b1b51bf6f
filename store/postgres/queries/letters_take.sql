-- Open letters of a filter change hands, each at most once: those that another
-- transaction is taking are skipped. Who discards letters does not need what their messages
-- say. The letters of one reason are compared as
-- (error_fingerprint, id), which is what their index is sorted by: for error_fingerprint = $7 the
-- planner likes to walk over the open letters of all reasons by id.
WITH open AS MATERIALIZED (
    SELECT l.ctid AS place
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'open' AND ($1::text = '' OR l.state = $1::text)
        AND (cardinality($2::bigint[]) = 0 OR l.id = ANY ($2::bigint[]))
        AND ($3::text = '' OR l.consumer = $3::text)
        AND ($4::text = '' OR l.handler = $4::text)
        AND ($5::text = '' OR l.topic = $5::text)
        AND ($6::text = '' OR l.class = $6::text)
        AND ($7::text = '' OR (l.error_fingerprint, l.id) > ($7::text, $16::bigint)
            AND (l.error_fingerprint, l.id) <= ($7::text, 9223372036854775807))
        AND ($8::text = '' OR l.key = $8::text)
        AND ($9::timestamptz IS NULL OR l.created_at >= $9::timestamptz)
        AND ($10::timestamptz IS NULL OR l.created_at < $10::timestamptz)
        AND ($11::text = '' OR l.build = $11::text)
        AND ($12::text = '' OR l.host = $12::text)
        AND {{letters_hold}}
        AND l.id > $16::bigint
    ORDER BY CASE WHEN $7::text <> '' THEN l.error_fingerprint END, l.id
    LIMIT $17
    FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE {{schema}}.headrace_dead_letters AS t
    SET state = $18, changed_at = {{now}}
    FROM open
    WHERE t.ctid = open.place
    RETURNING t.*
)
SELECT l.id, l.state, l.class, l.consumer, l.handler, l.scope, l.key, l.order_key, l.strict, l.fingerprint, l.first_fingerprint,
    l.message_id, l.topic, CASE WHEN l.state <> 'discarded' THEN l.payload END, CASE WHEN l.state <> 'discarded' THEN l.metadata END,
    l.coordinates, l.trace_parent, l.trace_state, l.error, l.error_fingerprint,
    l.chain, CASE WHEN l.state <> 'discarded' THEN l.stack ELSE '' END, l.attempts, l.first_failure, l.last_failure, l.previous_id, l.redrives, l.host, l.build, l.environment,
    l.created_at, l.changed_at, l.reply_topic, l.deliveries, l.rev, e.payload, e.metadata
FROM taken AS l
LEFT JOIN {{schema}}.headrace_letter_edits AS e ON e.letter_id = l.id AND e.rev = l.rev
ORDER BY l.id
