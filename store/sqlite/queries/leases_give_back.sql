-- Leases whose work was not begun, or was cancelled: their start is taken back, and
-- the rows wait where they were.
UPDATE {{schema}}.headrace_backlog AS b
SET status = 'leasable', token = '', due_at = NULL, starts = b.starts - 1
WHERE b.status = 'leased' AND (b.id, b.token) IN (SELECT a.value ->> 0, a.value ->> 1 FROM json_each($1) AS a)
