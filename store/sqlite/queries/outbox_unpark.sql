-- Parked rows of one outbox, or of all outboxes, all or those given, are tried again at once.
UPDATE {{schema}}.headrace_outbox_held
SET reason = 'backoff', due_at = {{now}}, attempts = 0
WHERE reason = 'parked' AND (json_array_length($1) = 0 OR id IN (SELECT r.value FROM json_each($1) AS r))
    AND ($2 = '' OR outbox = $2)
