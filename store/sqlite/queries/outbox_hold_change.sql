-- Rows that are held already wait for another reason, or longer.
UPDATE {{schema}}.headrace_outbox_held AS r
SET reason = h.value ->> 2, attempts = h.value ->> 4, error = h.value ->> 5,
    due_at = CASE WHEN h.value ->> 2 IN ('delayed', 'backoff') THEN ({{now}} + (h.value ->> 3)) / 1000 * 1000 END
FROM json_each($1) AS h
WHERE r.rowid = (
    SELECT o.rowid FROM {{schema}}.headrace_outbox_held AS o
    WHERE o.outbox = $2 AND o.shard = h.value ->> 0 AND o.id = h.value ->> 1
)
