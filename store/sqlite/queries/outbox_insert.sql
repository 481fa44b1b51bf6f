-- An event onto the ready line, with the $9th id before the last that was taken of
-- the sequence: an insert here reads nothing back.
INSERT INTO {{schema}}.headrace_outbox (outbox, shard, id, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, created_at)
SELECT $10, $1, s.last - $9, $2, $3, $4, $5, $6, $7, $8, {{now}} FROM {{schema}}.headrace_sequences AS s WHERE s.name = 'outbox'
