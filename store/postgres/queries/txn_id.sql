-- The id of the transaction that runs now; nothing where it has none yet.
SELECT COALESCE(pg_current_xact_id_if_assigned()::text, '')
