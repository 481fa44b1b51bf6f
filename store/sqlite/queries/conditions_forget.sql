-- Conditions that ended $1 microseconds ago.
DELETE FROM {{schema}}.headrace_conditions WHERE ended_at <= {{now}} - $1
