-- Rows by state of the scopes that start with $1. Reads the whole table.
SELECT state, count(*) FROM {{schema}}.headrace_inbox WHERE substr(scope, 1, length($1)) = $1 GROUP BY state
