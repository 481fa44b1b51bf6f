-- The leases that are still held end later. Nothing else can be at work on their rows.
UPDATE {{schema}}.headrace_backlog AS b
SET due_at = ({{now}} + $2) / 1000 * 1000
WHERE b.status = 'leased' AND (b.id, b.token) IN (SELECT a.value ->> 0, a.value ->> 1 FROM json_each($1) AS a)
RETURNING id, token, 1
