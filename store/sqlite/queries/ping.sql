-- Whether the file answers at all.
SELECT count(*) FROM {{schema}}.sqlite_schema
