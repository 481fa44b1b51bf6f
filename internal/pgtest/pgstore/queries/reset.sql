-- As the migration leaves them: the schema's own row, and the clock, which tests shift.
DO $reset$ BEGIN
    INSERT INTO {{schema}}.headrace_meta (id, version, readable_from) VALUES (gen_random_uuid()::text, 1, 1);
    IF (SELECT prosrc FROM pg_proc WHERE oid = '{{schema}}.headrace_now'::regproc) <> ' SELECT clock_timestamp() ' THEN
        CREATE OR REPLACE FUNCTION {{schema}}.headrace_now() RETURNS timestamptz LANGUAGE sql VOLATILE
        AS $headrace$ SELECT clock_timestamp() $headrace$;
    END IF;
END $reset$
