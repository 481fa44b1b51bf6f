-- The lease is given back.
DELETE FROM {{schema}}.headrace_alert_readers WHERE consumer = $1 AND owner = $2
