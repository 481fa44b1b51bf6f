-- The work is free for others; $3 says that it was done.
UPDATE {{schema}}.headrace_watches
SET until = {{now}}, done_at = CASE WHEN $3 THEN {{now}} ELSE done_at END
WHERE name = $1 AND owner = $2
