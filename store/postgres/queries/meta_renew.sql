-- A copy becomes a database of its own.
UPDATE {{schema}}.headrace_meta SET id = gen_random_uuid()::text RETURNING id
