-- The list of a plan is complete.
UPDATE {{schema}}.headrace_redrives
SET state = 'planned', count = $2, expires_at = {{now}} + $3
WHERE id = $1 AND state = 'preparing'
