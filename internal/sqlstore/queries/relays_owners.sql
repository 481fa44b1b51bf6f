-- Who owns an outbox.
SELECT o.consumer, o.sink FROM {{schema}}.headrace_outbox_owners AS o WHERE o.outbox = $1 ORDER BY o.consumer
