-- Acknowledged: their effects are committed, whoever holds them meanwhile.
DELETE FROM {{schema}}.headrace_queue WHERE topic = $1 AND consumer_group = $2 AND id = ANY ($3::bigint[])
