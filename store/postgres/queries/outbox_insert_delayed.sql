-- outbox_insert for events of which some are delayed ($15): those go onto the held line, in
-- the order given.
WITH event AS MATERIALIZED (
    SELECT e.shard, e.message_id, e.place, COALESCE(e.delay_us, 0) AS delay_us,
        COALESCE(e.topic, $3::text) AS topic, COALESCE(e.order_key, '') AS order_key,
        substring($1::bytea FROM e.payload_at FOR NULLIF(e.payload_size, -1)) AS payload,
        COALESCE(substring($1::bytea FROM e.payload_at + GREATEST(e.payload_size, 0) FOR e.metadata_size), convert_to('{}', 'UTF8')) AS metadata,
        COALESCE(e.trace_parent, '') AS trace_parent, COALESCE(e.trace_state, '') AS trace_state, COALESCE(e.local, 0) = 1 AS local
    FROM unnest($4::smallint[], $5::text[], $6::integer[], $7::integer[], $8::text[], $9::text[], $10::integer[], $11::text[], $12::text[], $14::integer[], $15::bigint[])
        WITH ORDINALITY AS e (shard, message_id, payload_at, payload_size, topic, order_key, metadata_size, trace_parent, trace_state, local, delay_us, place)
    WHERE CASE WHEN $2::text IN ('', pg_current_xact_id()::text) THEN true
        ELSE CAST('another transaction: ' || pg_current_xact_id()::text AS boolean) END
), line AS MATERIALIZED (
    SELECT e.place, $13::text AS outbox, e.topic IN (SELECT s.topic FROM {{schema}}.headrace_subscriptions AS s) AS copied FROM event AS e WHERE NOT e.local
    UNION ALL
    SELECT e.place, 'local/' || COALESCE(s.consumer, ''), false
    FROM event AS e
    LEFT JOIN {{schema}}.headrace_subscriptions AS s ON s.topic = e.topic
    WHERE s.topic IS NOT NULL OR e.local
), ready AS (
    INSERT INTO {{schema}}.headrace_outbox (outbox, shard, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, copied)
    SELECT line.outbox, e.shard, e.message_id, e.topic, e.order_key, e.payload, e.metadata, e.trace_parent, e.trace_state, line.copied
    FROM event AS e JOIN line ON line.place = e.place
    WHERE e.delay_us = 0
    ORDER BY e.place
)
INSERT INTO {{schema}}.headrace_outbox_held
    (outbox, shard, reason, due_at, attempts, error, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, copied)
SELECT line.outbox, e.shard, 'delayed', {{now}} + e.delay_us * interval '1 microsecond', 0, '',
    e.message_id, e.topic, e.order_key, e.payload, e.metadata, e.trace_parent, e.trace_state, line.copied
FROM event AS e JOIN line ON line.place = e.place
WHERE e.delay_us > 0
ORDER BY e.place
