-- Messages are given up, whole, unless that was done before. Ids go up in the order
-- given; the rows are written in an order that all callers share, so that two of them
-- never wait for each other. A letter's failures are those of the recorded attempts; a
-- conflict has none, since they are those of the message that had the key first.
INSERT INTO {{schema}}.headrace_dead_letters
    (id, class, consumer, handler, scope, key, order_key, strict, fingerprint, first_fingerprint, message_id, topic, payload,
     metadata, coordinates, trace_parent, trace_state, error, error_fingerprint, chain, stack, attempts,
     first_failure, last_failure, previous_id, redrives, host, build, environment, reply_topic, deliveries)
SELECT l.id, l.class, l.consumer, l.handler, l.scope, l.key, l.order_key, l.strict, l.fingerprint, l.first_fingerprint,
    l.message_id, l.topic, l.payload,
    l.metadata, l.coordinates, l.trace_parent, l.trace_state, l.error, l.error_fingerprint, l.chain, l.stack, l.attempts,
    COALESCE(failed.first, {{now}}), COALESCE(failed.last, {{now}}), l.previous_id, l.redrives, l.host, l.build, l.environment, l.reply_topic,
    l.deliveries
FROM (
    SELECT nextval($headrace${{schema}}.headrace_dead_letters_id$headrace$) AS id, u.*
    FROM (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::text[],
                $9::text[], $10::text[], $11::text[], $12::bytea[], $13::bytea[], $14::text[], $15::text[], $16::text[],
                $17::text[], $18::text[], $19::text[], $20::text[], $21::integer[], $22::bigint[], $23::integer[],
                $24::text[], $25::text[], $26::text[], $27::text[], $28::integer[])
            WITH ORDINALITY AS i (class, consumer, handler, scope, key, order_key, strict, fingerprint,
                first_fingerprint, message_id, topic, payload, metadata, coordinates, trace_parent, trace_state,
                error, error_fingerprint, chain, stack, attempts, previous_id, redrives,
                host, build, environment, reply_topic, deliveries, n)
        ORDER BY i.n
    ) AS u
) AS l
CROSS JOIN LATERAL (
    SELECT min(a.at) AS first, max(a.at) AS last
    FROM {{schema}}.headrace_attempts AS a
    WHERE a.scope = l.scope AND a.key = l.key AND l.class <> 'conflict'
) AS failed
ORDER BY l.scope COLLATE "C", l.key COLLATE "C", l.fingerprint COLLATE "C"
ON CONFLICT DO NOTHING
RETURNING id, scope, key, fingerprint, class = 'conflict'
