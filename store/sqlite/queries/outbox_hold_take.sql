-- Rows that are held are not ready any more.
DELETE FROM {{schema}}.headrace_outbox
WHERE rowid IN (
    SELECT o.rowid
    FROM json_each($1) AS h
    CROSS JOIN {{schema}}.headrace_outbox AS o ON o.outbox = $2 AND o.shard = h.value ->> 0 AND o.id = h.value ->> 1
)
