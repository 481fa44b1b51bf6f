-- Autovacuum leaves the tables of a test alone. It would come once a minute, for what earlier tests did, and what it finds is
-- in the catalog: the schema would not be given out again.
DO $calm$
DECLARE
    place regclass;
BEGIN
    FOR place IN SELECT oid::regclass FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' LOOP
        EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', place);
    END LOOP;
END $calm$
