-- No process adds changes up meanwhile.
SELECT pg_advisory_xact_lock($1)
