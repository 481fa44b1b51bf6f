-- The row is the transaction's until it ends, if the lease is still held. With FOR
-- UPDATE it waits for a claim that is under way, and sees its token; a plain read let
-- the old holder and the new one both commit. The idle timeout ($4, in ms; 0 leaves the
-- server's) takes the row from a process that was stopped.
SELECT CASE WHEN $4::bigint > 0 THEN set_config('idle_in_transaction_session_timeout', $4::bigint::text, true) END
FROM {{schema}}.headrace_backlog
WHERE scope = $1 AND key = $2 AND line = 'leased' AND token = $3
FOR UPDATE
