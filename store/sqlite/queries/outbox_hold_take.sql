-- Rows that are held are not ready any more.
DELETE FROM {{schema}}.headrace_outbox
WHERE (shard, id) IN (SELECT h.value ->> 0, h.value ->> 1 FROM json_each($1) AS h)
