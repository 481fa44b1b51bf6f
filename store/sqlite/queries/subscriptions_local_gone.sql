-- Ready rows of these topics in the outbox $2 that were copied onto the lines of the consumers
-- which were subscribed when they were written.
DELETE FROM {{schema}}.headrace_outbox AS o
WHERE o.outbox = $2 AND (json_array_length($1) = 0 OR o.topic IN (SELECT value FROM json_each($1))) AND o.copied
