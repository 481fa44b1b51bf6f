-- Held rows of these topics in the outbox $2 that were copied onto the lines of the consumers
-- which were subscribed when they were written.
DELETE FROM {{schema}}.headrace_outbox_held AS o
WHERE o.outbox = $2::text AND (cardinality($1::text[]) = 0 OR o.topic = ANY ($1::text[])) AND o.copied
