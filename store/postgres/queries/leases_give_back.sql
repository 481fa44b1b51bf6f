-- Leases whose work was not begun, or was cancelled: their start is taken back, and
-- the rows wait where they were.
UPDATE {{schema}}.headrace_backlog AS b
SET line = 'leasable', token = '', due_at = NULL, starts = b.starts - 1
FROM unnest($1::text[], $2::text[], $3::text[]) AS u (scope, key, token)
WHERE b.scope = u.scope AND b.key = u.key AND b.line = 'leased' AND b.token = u.token
