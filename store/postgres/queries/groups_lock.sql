-- One process at a time counts.
SELECT {{now}}, pg_try_advisory_xact_lock($1)
