-- The leases that are still held end later. Nothing else can be at work on their rows.
UPDATE {{schema}}.headrace_backlog AS b
SET due_at = (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + $2) / 1000 * 1000
WHERE b.line = 'leased' AND (b.scope, b.key, b.token) IN (
    SELECT a.value ->> 0, a.value ->> 1, a.value ->> 2 FROM json_each($1) AS a
)
RETURNING scope, key, token
