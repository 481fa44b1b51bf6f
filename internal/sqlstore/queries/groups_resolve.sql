-- A person says that a group is resolved.
UPDATE {{schema}}.headrace_groups
SET state = 'resolved', state_at = {{now}}, resolved_at = {{now}}, resolved_by = $4, resolved_build = $5
WHERE consumer = $1 AND handler = $2 AND error_fingerprint = $3
