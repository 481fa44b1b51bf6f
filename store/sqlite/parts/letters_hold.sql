-- What a filter says of the contents of a letter l: $13 to $15.
($13 = '' OR instr(l.error, $13) > 0 OR instr(l.trace_parent, $13) > 0 OR instr(l.payload, CAST($13 AS BLOB)) > 0)
AND ($14 IS NULL OR instr(l.metadata, $14) > 0)
AND ($15 IS NULL OR instr(l.payload, $15) > 0 OR instr(l.payload, x'5c') > 0)
