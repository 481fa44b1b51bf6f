-- The round is whose insert or update it is, for as long as $2 (µs) says.
INSERT INTO {{schema}}.headrace_prunes AS p (consumer, position, due_at)
VALUES ($1, '', {{now}} + $2)
ON CONFLICT (consumer) DO UPDATE SET due_at = excluded.due_at
WHERE p.due_at <= {{now}}
RETURNING position
