-- A row waits for $2 microseconds from now, for the run of number $3; with 0 it stays
-- where it is. What waits is not leased any more.
UPDATE {{schema}}.headrace_backlog
SET attempt = $3,
    line = CASE WHEN $2 > 0 THEN 'delayed' ELSE line END,
    token = CASE WHEN $2 > 0 THEN '' ELSE token END,
    due_at = CASE WHEN $2 > 0 THEN (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + $2) / 1000 * 1000 ELSE due_at END,
    ready_at = CASE WHEN $2 > 0 THEN CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 ELSE ready_at END
WHERE id = $1
