-- The held rows that subscriptions_local_refused has copied.
DELETE FROM {{schema}}.headrace_outbox_held AS o
WHERE o.outbox = $2 AND o.reason <> 'delayed' AND (json_array_length($1) = 0 OR o.topic IN (SELECT value FROM json_each($1)))
