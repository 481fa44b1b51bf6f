-- COMMIT, in one round trip with a statement that fails where the transaction that runs is not the one of the
-- claim, whose id the claim has noted: then a handler has ended its transaction. Text that is no number fails the cast.
SELECT CASE WHEN pg_current_xact_id_if_assigned()::text = current_setting('headrace.xact', true) THEN 1
    ELSE CAST('another transaction: ' || COALESCE(pg_current_xact_id_if_assigned()::text, 'none') AS integer) END; COMMIT
