-- A message is given up, whole, unless that was done before. Its failures are those
-- of the recorded attempts; a conflict has none, since they are those of the
-- message that had the key first.
INSERT INTO {{schema}}.headrace_dead_letters
    (class, consumer, handler, scope, key, order_key, strict, fingerprint, first_print, message_id, topic, payload,
     metadata, coordinates, trace_parent, trace_state, error, error_print, chain, stack, attempts,
     first_failure, last_failure, previous_id, redrives, host, build, reply_topic)
SELECT $1::text, $2, $3, $4::text, $5::text, $6, $7, $8, $9, $10, $11, $12,
    $13, $14, $15, $16, $17, $18, $19, $20, $21,
    COALESCE(failed.first, clock_timestamp()), COALESCE(failed.last, clock_timestamp()), $22, $23, $24, $25, $26
FROM (
    SELECT min(a.at) AS first, max(a.at) AS last
    FROM {{schema}}.headrace_attempts AS a
    WHERE a.scope = $4::text AND a.key = $5::text AND $1::text <> 'conflict'
) AS failed
ON CONFLICT (scope, key, fingerprint) WHERE state = 'open' DO NOTHING
RETURNING id
