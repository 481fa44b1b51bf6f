-- Parked rows of one outbox, or of all outboxes, all or those given, are tried again at once.
UPDATE {{schema}}.headrace_outbox_held
SET reason = 'backoff', due_at = {{now}}, attempts = 0
WHERE reason = 'parked' AND (cardinality($1::bigint[]) = 0 OR id = ANY ($1::bigint[]))
    AND ($2 = '' OR outbox = $2)
