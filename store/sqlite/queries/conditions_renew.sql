-- The lease is the owner's still; it stays locked until the transaction ends.
UPDATE {{schema}}.headrace_watches SET until = {{now}} + $3 WHERE name = $1 AND owner = $2 AND until > {{now}}
