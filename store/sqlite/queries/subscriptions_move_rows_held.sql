-- The held rows of the line of $1 go to the line of $2. The row that one was behind may
-- be ready there: it becomes due at once.
UPDATE {{schema}}.headrace_outbox_held
SET outbox = 'local/' || $2, due_at = CASE WHEN reason = 'behind' THEN {{now}} ELSE due_at END,
    reason = CASE WHEN reason = 'behind' THEN 'backoff' ELSE reason END
WHERE outbox = 'local/' || $1
