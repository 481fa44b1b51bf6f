-- A group alerts nobody: for $5 (µs) and $6 more letters, 0 for no such end.
UPDATE {{schema}}.headrace_groups
SET muted_by = $4, muted_until = {{now}} + NULLIF($5, 0), muted_count = total + NULLIF($6, 0), muted_anyway = $7
WHERE consumer = $1 AND handler = $2 AND error_fingerprint = $3
