-- outbox_insert for one event that is not delayed, the most common case. The row of the
-- outbox $1 and the copies for subscriptions to its topic are one insert, without arrays:
-- half of the server's work. A local event ($11) has no row of the outbox; without a
-- subscription it is kept on the line 'local/'. It fails, as txn_same does, in another
-- transaction than $2, where that is given.
INSERT INTO {{schema}}.headrace_outbox (outbox, shard, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, copied)
SELECT line.outbox, CASE WHEN $2::text IN ('', pg_current_xact_id()::text) THEN $3::smallint
        ELSE CAST('another transaction: ' || pg_current_xact_id()::text AS smallint) END,
    $5::text, $6::text, $7::text, $4::bytea, $8::bytea, $9::text, $10::text, line.copied
FROM (
    SELECT CASE WHEN $11::boolean THEN 'local/' ELSE $1::text END AS outbox, topic.subscribed AND NOT $11 AS copied
    FROM (SELECT EXISTS (SELECT FROM {{schema}}.headrace_subscriptions AS s WHERE s.topic = $6) AS subscribed) AS topic
    WHERE NOT (topic.subscribed AND $11)
    UNION ALL
    SELECT 'local/' || s.consumer, false FROM {{schema}}.headrace_subscriptions AS s WHERE s.topic = $6
) AS line
