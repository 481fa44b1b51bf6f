-- Takes the schema of a kind that was given back last: the server still has its pages in memory.
DELETE FROM headrace_spares.schemas
WHERE name = (SELECT name FROM headrace_spares.schemas WHERE kind = $1 ORDER BY at DESC LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING name, print
