-- Whether the file has the table of this name ($2); its schema is not $1 here but in the text.
SELECT EXISTS (SELECT 1 FROM {{schema}}.sqlite_schema WHERE type = 'table' AND name = $2 AND $1 IS NOT NULL)
