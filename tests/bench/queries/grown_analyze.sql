-- What autovacuum does with a table that has grown to this size.
VACUUM (ANALYZE) headrace_inbox
