-- An idle look: the shards with ready rows above their marks, and those with held rows:
-- whether one is due, and the first that will be. One probe of each index for each shard.
SELECT m.key, true, NULL
FROM json_each($1) AS m
WHERE EXISTS (SELECT 1 FROM {{schema}}.headrace_outbox AS o WHERE o.outbox = $2 AND o.shard = m.key AND o.id > m.value)
UNION ALL
SELECT m.key,
    (SELECT min(h.due_at) FROM {{schema}}.headrace_outbox_held AS h WHERE h.outbox = $2 AND h.shard = m.key AND h.due_at IS NOT NULL) <= (SELECT {{now}}),
    (SELECT min(h.due_at) - (SELECT {{now}}) FROM {{schema}}.headrace_outbox_held AS h WHERE h.outbox = $2 AND h.shard = m.key AND h.due_at > (SELECT {{now}}))
FROM json_each($1) AS m
WHERE EXISTS (SELECT 1 FROM {{schema}}.headrace_outbox_held AS h WHERE h.outbox = $2 AND h.shard = m.key AND h.due_at IS NOT NULL)
