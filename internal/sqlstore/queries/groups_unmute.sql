-- A mute ends.
UPDATE {{schema}}.headrace_groups
SET muted_by = '', muted_until = NULL, muted_count = NULL, muted_anyway = false
WHERE consumer = $1 AND handler = $2 AND error_fingerprint = $3 AND muted_by <> ''
