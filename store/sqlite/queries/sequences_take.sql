-- $2 ids of a sequence: the returned number and those before it.
UPDATE {{schema}}.headrace_sequences SET last = last + $2 WHERE name = $1 RETURNING last
