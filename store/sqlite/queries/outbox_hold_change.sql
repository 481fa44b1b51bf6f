-- A row that stands on the held line already waits for another reason, or longer.
UPDATE {{schema}}.headrace_outbox_held
SET reason = $3, due_at = CASE WHEN $3 IN ('delayed', 'backoff') THEN (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + $4) / 1000 * 1000 END, attempts = $5, error = $6
WHERE shard = $1 AND id = $2
