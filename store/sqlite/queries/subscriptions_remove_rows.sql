-- Ready rows of these topics go from the line of the consumer $2.
DELETE FROM {{schema}}.headrace_outbox
WHERE outbox = 'local/' || $2 AND (json_array_length($1) = 0 OR topic IN (SELECT value FROM json_each($1)))
