-- Rows move to the held line, or change there. They keep their ids, and with them
-- their place in the order.
WITH hold AS MATERIALIZED (
    SELECT $7::text AS outbox, c.shard, c.id, c.reason, c.attempts, c.error,
        CASE WHEN c.reason IN ('delayed', 'backoff') THEN {{now}} + c.delay_us * interval '1 microsecond' END AS due_at
    FROM unnest($1::smallint[], $2::bigint[], $3::text[], $4::bigint[], $5::integer[], $6::text[])
        AS c (shard, id, reason, delay_us, attempts, error)
), changed AS (
    UPDATE {{schema}}.headrace_outbox_held AS h
    SET reason = hold.reason, due_at = hold.due_at, attempts = hold.attempts, error = hold.error
    FROM hold
    WHERE h.outbox = hold.outbox AND h.shard = hold.shard AND h.id = hold.id
    RETURNING h.id
), taken AS (
    DELETE FROM {{schema}}.headrace_outbox AS o
    USING hold
    WHERE o.outbox = hold.outbox AND o.shard = hold.shard AND o.id = hold.id
    RETURNING o.outbox, o.shard, o.id, hold.reason, hold.due_at, hold.attempts, hold.error, o.message_id, o.topic, o.order_key,
        o.payload, o.metadata, o.trace_parent, o.trace_state, o.created_at, o.copied
), moved AS (
    INSERT INTO {{schema}}.headrace_outbox_held
        (outbox, shard, id, reason, due_at, attempts, error, message_id, topic, order_key, payload, metadata,
         trace_parent, trace_state, created_at, copied)
    SELECT taken.* FROM taken
    RETURNING id
)
SELECT (SELECT count(*) FROM changed) + (SELECT count(*) FROM moved)
