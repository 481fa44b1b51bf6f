-- Empties a schema, and drops what a test has made beside the tables of headrace: tables, views and sequences, then functions, with
-- the triggers that call them, then types. Few rows are deleted: TRUNCATE makes the files of a table and of its indexes anew, which costs
-- thirty times as much. No trigger writes down what was deleted.
DO $clean$
DECLARE
    place CONSTANT regnamespace := to_regnamespace($name${{name}}$name$);
    what text;
BEGIN
    FOR what IN
        SELECT format('DROP %s IF EXISTS %s CASCADE', CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, oid::regclass)
        FROM pg_class WHERE relnamespace = place AND relkind IN ('r', 'p', 'v', 'm', 'S') AND relname NOT LIKE 'headrace\_%'
        ORDER BY relkind = 'S'
    LOOP
        EXECUTE what;
    END LOOP;
    FOR what IN
        SELECT format('DROP ROUTINE %s CASCADE', oid::regprocedure) FROM pg_proc WHERE pronamespace = place AND proname NOT LIKE 'headrace\_%'
    LOOP
        EXECUTE what;
    END LOOP;
    FOR what IN
        SELECT format('DROP TYPE IF EXISTS %s CASCADE', oid::regtype) FROM pg_type
        WHERE typnamespace = place AND typtype IN ('e', 'd', 'c') AND typname NOT LIKE 'headrace\_%' AND typname NOT LIKE '\_%'
    LOOP
        EXECUTE what;
    END LOOP;
    PERFORM set_config('session_replication_role', 'replica', true);
    FOR what IN
        SELECT CASE WHEN pg_relation_size(oid) <= 32768 AND pg_total_relation_size(oid) <= 262144 THEN 'DELETE FROM ' ELSE 'TRUNCATE ' END || oid::regclass
        FROM pg_class WHERE relnamespace = place AND relkind = 'r' AND pg_relation_size(oid) > 0
    LOOP
        EXECUTE what;
    END LOOP;
    PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence JOIN pg_class ON oid = seqrelid WHERE relnamespace = place;
END $clean$
