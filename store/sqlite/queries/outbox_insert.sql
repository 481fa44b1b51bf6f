-- An event onto the ready line, with the $9th id before the last that was taken of
-- the sequence: whoever inserts can only execute, and reads nothing back.
INSERT INTO {{schema}}.headrace_outbox (shard, id, message_id, topic, order_key, payload, metadata, trace_parent, trace_state)
SELECT $1, s.last - $9, $2, $3, $4, $5, $6, $7, $8 FROM {{schema}}.headrace_sequences AS s WHERE s.name = 'outbox'
