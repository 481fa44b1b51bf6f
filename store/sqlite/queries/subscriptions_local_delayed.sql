-- The delayed rows of these topics in the outbox $2 go to the line 'local/'.
UPDATE {{schema}}.headrace_outbox_held AS o SET outbox = 'local/' WHERE o.outbox = $2 AND o.reason = 'delayed' AND (json_array_length($1) = 0 OR o.topic IN (SELECT value FROM json_each($1)))
