-- The list of a plan is complete, and what its letters are is known.
UPDATE {{schema}}.headrace_redrives
SET state = 'planned', count = $2, survey = $4, expires_at = {{now}} + $3::bigint * interval '1 microsecond'
WHERE id = $1 AND state = 'preparing'
