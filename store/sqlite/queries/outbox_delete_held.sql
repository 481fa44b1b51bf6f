-- Published rows of the held line.
DELETE FROM {{schema}}.headrace_outbox_held WHERE outbox = $3 AND shard = $1 AND id IN (SELECT r.value FROM json_each($2) AS r)
