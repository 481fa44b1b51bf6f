-- A row that stands on the held line already waits for another reason, or longer.
UPDATE {{schema}}.headrace_outbox_held
SET reason = $3, due_at = CASE WHEN $3 IN ('delayed', 'backoff') THEN CAST(unixepoch('subsec') * 1000000 AS INTEGER) + $4 END, attempts = $5, error = $6
WHERE shard = $1 AND id = $2
