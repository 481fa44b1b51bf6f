-- Leases whose work was not begun, or was cancelled: their start is taken back, and
-- the rows wait where they were.
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'leasable', token = '', due_at = NULL, starts = b.starts - 1
FROM unnest($1::bigint[], $2::text[]) AS u (id, token)
WHERE b.id = u.id AND b.status = 'leased' AND b.token = u.token
