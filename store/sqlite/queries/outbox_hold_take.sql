-- A held row leaves the ready line.
DELETE FROM {{schema}}.headrace_outbox WHERE shard = $1 AND id = $2
