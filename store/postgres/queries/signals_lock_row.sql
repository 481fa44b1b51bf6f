-- The message's row of the backlog: no run marks, ends or puts the message off meanwhile.
SELECT b.id FROM {{schema}}.headrace_backlog AS b WHERE b.scope = $1 AND b.key = $2 FOR UPDATE
