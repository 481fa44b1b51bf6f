-- A relay has ended.
DELETE FROM {{schema}}.headrace_relays WHERE id = $1
