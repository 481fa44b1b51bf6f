-- Open letters of a filter change hands, each at most once.
UPDATE {{schema}}.headrace_dead_letters
SET state = $18, changed_at = {{now}}
WHERE id IN (
    SELECT l.id
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'open' AND ($1 = '' OR l.state = $1)
        AND (json_array_length($2) = 0 OR l.id IN (SELECT r.value FROM json_each($2) AS r))
        AND ($3 = '' OR l.consumer = $3)
        AND ($4 = '' OR l.handler = $4)
        AND ($5 = '' OR l.topic = $5)
        AND ($6 = '' OR l.class = $6)
        AND ($7 = '' OR l.error_fingerprint = $7)
        AND ($8 = '' OR l.key = $8)
        AND ($9 IS NULL OR l.created_at >= $9)
        AND ($10 IS NULL OR l.created_at < $10)
        AND ($11 = '' OR l.build = $11)
        AND ($12 = '' OR l.host = $12)
        AND ($13 = '' OR instr(l.error, $13) > 0 OR instr(l.payload, CAST($13 AS BLOB)) > 0)
        AND ($14 IS NULL OR instr(l.metadata, $14) > 0)
        AND ($15 IS NULL OR instr(l.payload, $15) > 0 OR instr(l.payload, x'5c') > 0)
        AND l.id > $16
    ORDER BY l.id
    LIMIT $17
)
RETURNING id, state, class, consumer, handler, scope, key, order_key, strict, fingerprint, first_fingerprint,
    message_id, topic, payload, metadata, coordinates, trace_parent, trace_state, error, error_fingerprint,
    chain, stack, attempts, first_failure, last_failure, previous_id, redrives, host, build, environment,
    created_at, changed_at, reply_topic, deliveries
