-- How far the round has come, and when ($3, in µs from now) another may begin.
UPDATE {{schema}}.headrace_prunes
SET position = $2, due_at = {{now}} + $3
WHERE consumer = $1
