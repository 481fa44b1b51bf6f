-- The delayed rows of these topics in the outbox $2 go to the line 'local/'.
UPDATE {{schema}}.headrace_outbox_held AS o SET outbox = 'local/' WHERE o.outbox = $2::text AND o.reason = 'delayed' AND (cardinality($1::text[]) = 0 OR o.topic = ANY ($1::text[]))
