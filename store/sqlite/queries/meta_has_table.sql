-- Whether the file has headrace's tables.
SELECT EXISTS (SELECT 1 FROM {{schema}}.sqlite_schema WHERE type = 'table' AND name = 'headrace_meta')
