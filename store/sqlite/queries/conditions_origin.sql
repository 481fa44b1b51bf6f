-- The id of the database's headrace, and the names of database and schema.
SELECT m.id, COALESCE((SELECT file FROM pragma_database_list WHERE name = 'main'), ''), $1 FROM {{schema}}.headrace_meta AS m
