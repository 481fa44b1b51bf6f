-- What autovacuum does with tables that have grown to this size.
VACUUM (ANALYZE) headrace_dead_letters, headrace_inbox
