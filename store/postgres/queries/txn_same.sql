-- Fails where the transaction that runs is not $1, with COMMIT behind it in the same round
-- trip: then a handler has ended its transaction. Text that is no number fails the cast.
SELECT CASE WHEN pg_current_xact_id_if_assigned()::text = $1::text THEN 1
    ELSE CAST('another transaction: ' || COALESCE(pg_current_xact_id_if_assigned()::text, 'none') AS integer) END
