-- New rows, each on its line, with ids in the order given.
INSERT INTO {{schema}}.headrace_backlog
    (consumer, shard, line, due_at, handler, scope, key, order_key, strict, fingerprint, message_id, topic,
     payload, metadata, coordinates, trace_parent, trace_state, attempt, spent, letter_id, redrives,
     reply_topic)
SELECT p.consumer, p.shard,
    CASE WHEN p.blocked THEN 'blocked' WHEN p.delay_us > 0 THEN 'delayed' ELSE 'ready' END,
    CASE WHEN NOT p.blocked AND p.delay_us > 0 THEN clock_timestamp() + p.delay_us * interval '1 microsecond' END,
    p.handler, p.scope, p.key, p.order_key, p.strict, p.fingerprint, p.message_id, p.topic,
    p.payload, p.metadata, p.coordinates, p.trace_parent, p.trace_state, p.attempt, p.spent, p.letter_id, p.redrives,
    p.reply_topic
FROM unnest($1::text[], $2::smallint[], $3::boolean[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[],
        $9::boolean[], $10::text[], $11::text[], $12::text[], $13::bytea[], $14::bytea[], $15::text[], $16::text[],
        $17::text[], $18::integer[], $19::integer[], $20::bigint[], $21::integer[], $22::text[])
    WITH ORDINALITY AS p (consumer, shard, blocked, delay_us, handler, scope, key, order_key,
        strict, fingerprint, message_id, topic, payload, metadata, coordinates, trace_parent,
        trace_state, attempt, spent, letter_id, redrives, reply_topic, place)
ORDER BY p.place
