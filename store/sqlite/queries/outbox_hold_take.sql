-- Rows that are held are not ready any more.
DELETE FROM {{schema}}.headrace_outbox
WHERE (outbox, shard, id) IN (SELECT $2, h.value ->> 0, h.value ->> 1 FROM json_each($1) AS h)
