-- The row is the transaction's until it ends, if the lease is still held. With FOR
-- UPDATE it waits for a claim that is under way, and sees its token; a plain read let
-- the old holder and the new one both commit. It also waits for a transaction that blocks
-- rows behind this one, and so releases them. The limits ($3 and $4, in ms; 0 leaves the
-- server's) ride along: they take the row from a process that was stopped.
SELECT {{schema}}.headrace_limits($3, $4)
FROM {{schema}}.headrace_backlog
WHERE id = $1 AND status = 'leased' AND token = $2
FOR UPDATE
