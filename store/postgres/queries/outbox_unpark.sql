-- Parked rows, all or those given, are tried again at once.
UPDATE {{schema}}.headrace_outbox_held
SET reason = 'backoff', due_at = {{now}}, attempts = 0
WHERE reason = 'parked' AND (cardinality($1::bigint[]) = 0 OR id = ANY ($1::bigint[]))
