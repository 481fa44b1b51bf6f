-- Takes schemas that no test asked for in the last hour: the tables of other builds.
DELETE FROM headrace_spares.schemas WHERE at < clock_timestamp() - interval '1 hour' RETURNING name
