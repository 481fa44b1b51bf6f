-- A condition that never fired leaves nothing.
DELETE FROM {{schema}}.headrace_conditions WHERE key = $1
