-- Gives a schema back, for another test.
INSERT INTO headrace_spares.schemas (name, kind, print) VALUES ($1, $2, $3)
