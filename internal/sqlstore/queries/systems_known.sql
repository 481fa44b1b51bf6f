-- Whether a step that is recorded calls the system. It reads the whole table if none does.
SELECT EXISTS (SELECT 1 FROM {{schema}}.headrace_steps AS s WHERE s.system = $1)
