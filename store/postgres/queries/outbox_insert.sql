-- Events in the order given, the delayed ones onto the held line. Nothing is
-- written in another transaction than $10, where that is given: its id is returned,
-- and the caller sees that a handler ended its transaction.
WITH event AS MATERIALIZED (
    SELECT e.*
    FROM unnest($1::smallint[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::bytea[], $7::text[], $8::text[], $9::bigint[])
        WITH ORDINALITY AS e (shard, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, delay_us, place)
    WHERE $10::text IN ('', pg_current_xact_id()::text)
), ready AS (
    INSERT INTO {{schema}}.headrace_outbox (shard, message_id, topic, order_key, payload, metadata, trace_parent, trace_state)
    SELECT e.shard, e.message_id, e.topic, e.order_key, e.payload, e.metadata, e.trace_parent, e.trace_state
    FROM event AS e
    WHERE e.delay_us = 0
    ORDER BY e.place
), held AS (
    INSERT INTO {{schema}}.headrace_outbox_held
        (shard, reason, due_at, attempts, error, message_id, topic, order_key, payload, metadata, trace_parent, trace_state)
    SELECT e.shard, 'delayed', clock_timestamp() + e.delay_us * interval '1 microsecond', 0, '',
        e.message_id, e.topic, e.order_key, e.payload, e.metadata, e.trace_parent, e.trace_state
    FROM event AS e
    WHERE e.delay_us > 0
    ORDER BY e.place
)
SELECT pg_current_xact_id()::text
