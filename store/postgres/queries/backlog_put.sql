-- New rows, with ids in the order given. Until a row becomes ready anew, its id is its
-- place. A row without a key has no fingerprint either.
INSERT INTO {{schema}}.headrace_backlog
    (id, place, consumer, shard, status, due_at, handler, scope, key, order_key, strict, fingerprint, message_id, topic,
     payload, metadata, coordinates, trace_parent, trace_state, attempt, spent, reruns, postponed_at, reason, letter_id, redrives,
     reply_topic, error_fingerprint)
SELECT p.id, p.id, p.consumer, p.shard,
    CASE WHEN p.delay_us > 0 THEN 'delayed' ELSE 'ready' END,
    CASE WHEN p.delay_us > 0 THEN {{now}} + p.delay_us * interval '1 microsecond' END,
    p.handler, p.scope, NULLIF(p.key, ''), p.order_key, p.strict, CASE WHEN p.key <> '' THEN p.fingerprint END,
    p.message_id, p.topic, p.payload, p.metadata, p.coordinates, p.trace_parent, p.trace_state, p.attempt, p.spent, p.reruns,
    CASE WHEN p.postponed_us > 0 THEN {{now}} - p.postponed_us * interval '1 microsecond' END, p.reason, p.letter_id,
    p.redrives, p.reply_topic, p.error_fingerprint
FROM (
    SELECT nextval($headrace${{schema}}.headrace_backlog_id$headrace$) AS id, u.*
    FROM (
        SELECT * FROM unnest($1::text[], $2::smallint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[],
                $8::boolean[], $9::text[], $10::text[], $11::text[], $12::bytea[], $13::bytea[], $14::text[], $15::text[],
                $16::text[], $17::integer[], $18::integer[], $19::integer[], $20::bigint[], $21::text[], $22::bigint[],
                $23::integer[], $24::text[], $25::text[])
            WITH ORDINALITY AS i (consumer, shard, delay_us, handler, scope, key, order_key,
                strict, fingerprint, message_id, topic, payload, metadata, coordinates, trace_parent,
                trace_state, attempt, spent, reruns, postponed_us, reason, letter_id, redrives,
                reply_topic, error_fingerprint, n)
        ORDER BY i.n
    ) AS u
) AS p
