-- A row waits for $2 microseconds from now, for the run of number $3; with 0 it stays
-- where it is. What waits is not leased any more.
UPDATE {{schema}}.headrace_backlog
SET attempt = $3::integer,
    line = CASE WHEN $2::bigint > 0 THEN 'delayed' ELSE line END,
    token = CASE WHEN $2::bigint > 0 THEN '' ELSE token END,
    due_at = CASE WHEN $2::bigint > 0 THEN clock_timestamp() + $2::bigint * interval '1 microsecond' ELSE due_at END,
    ready_at = CASE WHEN $2::bigint > 0 THEN clock_timestamp() ELSE ready_at END
WHERE id = $1
