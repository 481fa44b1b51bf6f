-- The ready rows of the line of $1 go to the line of $2.
UPDATE {{schema}}.headrace_outbox SET outbox = 'local/' || $2::text WHERE outbox = 'local/' || $1::text
