-- Those that ended long ago.
DELETE FROM {{schema}}.headrace_requests WHERE until < {{now}} - $1
