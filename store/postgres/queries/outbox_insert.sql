-- Events onto the ready line of the outbox $13, in the order given. Their payloads and metadata come as
-- one string of bytes ($1), because an array of those costs twice its size on the way and
-- a walk over every character here. An empty array says that all events have what is
-- most common: the topic $3, no order key, no metadata, no trace.
--
-- Nothing is written in another transaction than $2, where that is given: its id is
-- returned, and the caller sees that a handler ended its transaction.
WITH ready AS (
    INSERT INTO {{schema}}.headrace_outbox (outbox, shard, message_id, topic, order_key, payload, metadata, trace_parent, trace_state)
    SELECT $13, e.shard, e.message_id, COALESCE(e.topic, $3::text), COALESCE(e.order_key, ''),
        substring($1::bytea FROM e.payload_at FOR e.payload_size),
        COALESCE(substring($1::bytea FROM e.payload_at + e.payload_size FOR e.metadata_size), convert_to('{}', 'UTF8')),
        COALESCE(e.trace_parent, ''), COALESCE(e.trace_state, '')
    FROM unnest($4::smallint[], $5::text[], $6::integer[], $7::integer[], $8::text[], $9::text[], $10::integer[], $11::text[], $12::text[])
        AS e (shard, message_id, payload_at, payload_size, topic, order_key, metadata_size, trace_parent, trace_state)
    WHERE $2::text IN ('', pg_current_xact_id()::text)
)
SELECT pg_current_xact_id()::text
