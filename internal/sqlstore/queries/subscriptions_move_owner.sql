-- The consumer $2 owns the outboxes of $1 too: it is $1 under a new name.
INSERT INTO {{schema}}.headrace_outbox_owners (outbox, consumer, sink)
SELECT o.outbox, $2, o.sink FROM {{schema}}.headrace_outbox_owners AS o
WHERE o.consumer = $1
ON CONFLICT (outbox, consumer) DO NOTHING
