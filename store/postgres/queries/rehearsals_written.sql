-- The rows that this session has written into tables that are not ours, and not told the
-- server's statistics yet. Those of earlier transactions may be among them: only the
-- difference of two answers in one transaction says something. -1: the server does not count.
SELECT CASE WHEN current_setting('track_counts')::boolean THEN (
    SELECT COALESCE(sum(
        pg_stat_get_xact_tuples_inserted(c.oid) + pg_stat_get_xact_tuples_updated(c.oid) + pg_stat_get_xact_tuples_deleted(c.oid)
    ), 0)::bigint
    FROM pg_catalog.pg_class AS c
    WHERE c.relkind = 'r' AND c.relname NOT LIKE 'headrace\_%' AND c.relnamespace <> 'pg_catalog'::regnamespace
) ELSE -1 END
