-- Makes the standby a primary, and waits for up to a minute until it is one.
SELECT pg_promote(true, 60)
