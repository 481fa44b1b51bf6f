-- Those that ended long ago.
DELETE FROM {{schema}}.headrace_requests WHERE until < {{now}} - $1::bigint * interval '1 microsecond'
