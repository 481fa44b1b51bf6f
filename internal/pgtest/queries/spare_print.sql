-- A print of the catalog of a schema: two prints of one schema differ if anything in it was changed in between, rows apart. A row of
-- the catalog that was changed has another xmin. In pg_class that is so when a table is emptied, too, and a test that
-- shifts the clock replaces a function that is put back: of these it is what they say. What ANALYZE has found stays when a table is
-- emptied, and plans follow it.
WITH relations AS MATERIALIZED (
    SELECT oid, relkind, (oid, relname, relowner, relpersistence, relrowsecurity, relforcerowsecurity, relreplident, relacl, reloptions,
        CASE relkind WHEN 'r' THEN (relpages, reltuples, relallvisible) END)::text AS says
    FROM pg_class WHERE relnamespace = $1::regnamespace
),
objects AS (
    SELECT says FROM relations
    UNION ALL
    SELECT (oid, xmin)::text FROM pg_namespace WHERE oid = $1::regnamespace
    UNION ALL
    SELECT (proname, prosrc, provolatile, proconfig, proacl, proowner)::text FROM pg_proc WHERE pronamespace = $1::regnamespace
    UNION ALL
    SELECT (attrelid, attnum, xmin)::text FROM pg_attribute WHERE attrelid IN (SELECT oid FROM relations WHERE relkind = 'r')
    UNION ALL
    SELECT (oid, xmin)::text FROM pg_attrdef WHERE adrelid IN (SELECT oid FROM relations)
    UNION ALL
    SELECT (oid, xmin)::text FROM pg_constraint WHERE connamespace = $1::regnamespace
    UNION ALL
    SELECT (indexrelid, xmin)::text FROM pg_index WHERE indrelid IN (SELECT oid FROM relations)
    UNION ALL
    SELECT (oid, xmin)::text FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM relations)
    UNION ALL
    SELECT (oid, xmin)::text FROM pg_rewrite WHERE ev_class IN (SELECT oid FROM relations)
    UNION ALL
    SELECT (oid, xmin)::text FROM pg_policy WHERE polrelid IN (SELECT oid FROM relations)
    UNION ALL
    SELECT (seqrelid, xmin)::text FROM pg_sequence WHERE seqrelid IN (SELECT oid FROM relations)
    UNION ALL
    SELECT (oid, xmin)::text FROM pg_publication_rel WHERE prrelid IN (SELECT oid FROM relations)
    UNION ALL
    SELECT (oid, xmin)::text FROM pg_type WHERE typnamespace = $1::regnamespace
    UNION ALL
    SELECT (oid, xmin)::text FROM pg_default_acl WHERE defaclnamespace = $1::regnamespace
    UNION ALL
    SELECT (oid, xmin)::text FROM pg_statistic_ext WHERE stxnamespace = $1::regnamespace
    UNION ALL
    SELECT 'analyzed' FROM pg_statistic WHERE starelid IN (SELECT oid FROM relations)
)
SELECT count(*)::text || ' ' || sum(hashtextextended(says, 0))::text FROM objects
