-- COMMIT, in one message with txn_same in front of it: it fails where the transaction that runs is not $1. Such a
-- message has no arguments, so the id itself is put in the place of $1.
SELECT CASE WHEN pg_current_xact_id_if_assigned()::text = $1::text THEN 1
    ELSE CAST('another transaction: ' || COALESCE(pg_current_xact_id_if_assigned()::text, 'none') AS integer) END; COMMIT
