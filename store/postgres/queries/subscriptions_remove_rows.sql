-- Ready rows of these topics go from the line of the consumer $2.
DELETE FROM {{schema}}.headrace_outbox
WHERE outbox = 'local/' || $2::text AND (cardinality($1::text[]) = 0 OR topic = ANY ($1::text[]))
