-- The schemas that tests have given back, for tests to come, of this process or another. Only one process at a time makes the table.
DO $make$ BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('headrace_spares'));
    CREATE SCHEMA IF NOT EXISTS headrace_spares;
    CREATE TABLE IF NOT EXISTS headrace_spares.schemas (
        name  text PRIMARY KEY,
        kind  text NOT NULL, -- says what is in it
        print text NOT NULL, -- of its catalog, when it was made
        at    timestamptz NOT NULL DEFAULT clock_timestamp()
    );
END $make$
