-- Who owns an outbox, or each of them.
SELECT own.outbox, own.consumer, own.sink FROM {{schema}}.headrace_outbox_owners AS own
WHERE $1 IN (own.outbox, '')
ORDER BY own.outbox, own.consumer
