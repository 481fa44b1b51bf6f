-- The id of the database's headrace, and the names of database and schema.
SELECT m.id, current_database(), $1::text FROM {{schema}}.headrace_meta AS m
