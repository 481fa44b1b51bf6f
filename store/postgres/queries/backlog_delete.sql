-- Rows that were worked off.
DELETE FROM {{schema}}.headrace_backlog WHERE id = ANY ($1::bigint[])
