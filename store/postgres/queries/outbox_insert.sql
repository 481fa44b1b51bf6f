-- Events onto the ready line of the outbox $13, in the order given. Their payloads and metadata come as
-- one string of bytes ($1), because an array of those costs twice its size on the way and
-- a walk over every character here. An empty array says that all events have what is
-- most common: the topic $3, no order key, no metadata, no trace, not local ($14).
--
-- The second part copies them onto the lines of the consumers that are subscribed to their
-- topics, as the rows of the outbox then say (copied), and keeps local ones without a subscription on the line 'local/'. Where there is
-- no subscription and no local event, it ends before it reads one. It is one join, so that
-- the server plans it once: it planned a subquery for each event anew each time.
--
-- It fails, as txn_same does, in another transaction than $2, where that is given.
WITH event AS NOT MATERIALIZED (
    SELECT e.place, e.shard, e.message_id, COALESCE(e.topic, $3::text) AS topic, COALESCE(e.order_key, '') AS order_key,
        substring($1::bytea FROM e.payload_at FOR NULLIF(e.payload_size, -1)) AS payload,
        COALESCE(substring($1::bytea FROM e.payload_at + GREATEST(e.payload_size, 0) FOR e.metadata_size), convert_to('{}', 'UTF8')) AS metadata,
        COALESCE(e.trace_parent, '') AS trace_parent, COALESCE(e.trace_state, '') AS trace_state, COALESCE(e.local, 0) = 1 AS local
    FROM unnest($4::smallint[], $5::text[], $6::integer[], $7::integer[], $8::text[], $9::text[], $10::integer[], $11::text[], $12::text[], $14::integer[])
        WITH ORDINALITY AS e (shard, message_id, payload_at, payload_size, topic, order_key, metadata_size, trace_parent, trace_state, local, place)
    WHERE CASE WHEN $2::text IN ('', pg_current_xact_id()::text) THEN true
        ELSE CAST('another transaction: ' || pg_current_xact_id()::text AS boolean) END
), ready AS (
    INSERT INTO {{schema}}.headrace_outbox (outbox, shard, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, copied)
    SELECT $13, e.shard, e.message_id, e.topic, e.order_key, e.payload, e.metadata, e.trace_parent, e.trace_state,
        e.topic IN (SELECT s.topic FROM {{schema}}.headrace_subscriptions AS s)
    FROM event AS e
    WHERE NOT e.local
)
INSERT INTO {{schema}}.headrace_outbox (outbox, shard, message_id, topic, order_key, payload, metadata, trace_parent, trace_state)
SELECT 'local/' || COALESCE(s.consumer, ''), e.shard, e.message_id, e.topic, e.order_key, e.payload, e.metadata, e.trace_parent, e.trace_state
FROM event AS e
LEFT JOIN {{schema}}.headrace_subscriptions AS s ON s.topic = e.topic
WHERE (s.topic IS NOT NULL OR e.local) AND ($14 <> '{}' OR EXISTS (SELECT FROM {{schema}}.headrace_subscriptions))
ORDER BY e.place
