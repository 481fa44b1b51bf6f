-- Has the clock of the schema that is first in the search path run ahead: every time of the store comes from it.
CREATE OR REPLACE FUNCTION headrace_now() RETURNS timestamptz LANGUAGE sql VOLATILE
AS $$ SELECT clock_timestamp() + interval '{{microseconds}} microseconds' $$;
