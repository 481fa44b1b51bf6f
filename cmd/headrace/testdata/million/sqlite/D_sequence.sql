-- New rows of the backlog go behind those of $1 letters.
UPDATE headrace_sequences SET last = $1 WHERE name = 'backlog'
