-- The lease is the owner's still; it stays locked until the transaction ends.
UPDATE {{schema}}.headrace_watches SET until = {{now}} + $3::bigint * interval '1 microsecond' WHERE name = $1 AND owner = $2 AND until > {{now}}
