-- A copy becomes a database of its own.
UPDATE {{schema}}.headrace_meta SET id = lower(hex(randomblob(16))) RETURNING id
