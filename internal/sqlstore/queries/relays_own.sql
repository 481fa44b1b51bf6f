-- A consumer owns an outbox, and publishes it to this sink.
INSERT INTO {{schema}}.headrace_outbox_owners (outbox, consumer, sink) VALUES ($1, $2, $3)
ON CONFLICT (outbox, consumer) DO UPDATE SET sink = excluded.sink
