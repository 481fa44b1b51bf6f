-- Published rows of the ready line.
DELETE FROM {{schema}}.headrace_outbox WHERE outbox = $3 AND shard = $1 AND id IN (SELECT r.value FROM json_each($2) AS r)
