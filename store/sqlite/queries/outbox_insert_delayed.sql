-- An event onto the held line, for $11 microseconds, with the $9th id before the
-- last that was taken of the sequence.
INSERT INTO {{schema}}.headrace_outbox_held
    (outbox, shard, id, reason, due_at, attempts, error, message_id, topic, order_key, payload, metadata, trace_parent, trace_state, created_at)
SELECT $10, $1, s.last - $9, 'delayed', ({{now}} + $11) / 1000 * 1000, 0, '', $2, $3, $4, $5, $6, $7, $8, {{now}}
FROM {{schema}}.headrace_sequences AS s WHERE s.name = 'outbox'
