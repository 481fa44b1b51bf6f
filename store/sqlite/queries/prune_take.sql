-- The round is whose insert or update it is, for as long as $2 (µs) says.
INSERT INTO {{schema}}.headrace_prunes AS p (consumer, position, due_at)
VALUES ($1, '', CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + $2)
ON CONFLICT (consumer) DO UPDATE SET due_at = excluded.due_at
WHERE p.due_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
RETURNING position
