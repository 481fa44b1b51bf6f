-- An open letter gets another edit, if it has as many as the person saw.
UPDATE {{schema}}.headrace_dead_letters
SET rev = rev + 1
WHERE id = $1 AND rev = $2 - 1 AND state = 'open'
