-- What a filter says of the contents of a letter l: $13 to $15.
($13::text = '' OR position($13::text IN l.error) > 0 OR position($13::text IN l.trace_parent) > 0 OR position(convert_to($13::text, 'UTF8') IN l.payload) > 0)
AND ($14::bytea IS NULL OR position($14::bytea IN l.metadata) > 0)
AND ($15::bytea IS NULL OR position($15::bytea IN l.payload) > 0 OR position('\x5c'::bytea IN l.payload) > 0)
