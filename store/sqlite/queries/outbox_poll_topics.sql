-- An idle look as that of outbox_poll, for rows of the topics $3, or where $4 of all
-- others; and for each shard the highest id on the ready line.
SELECT m.key,
    EXISTS (SELECT 1 FROM {{schema}}.headrace_outbox AS o WHERE o.outbox = $2 AND o.shard = m.key AND o.id > m.value AND (o.topic IN (SELECT value FROM json_each($3))) <> $4)
        OR EXISTS (SELECT 1 FROM {{schema}}.headrace_outbox_held AS h WHERE h.outbox = $2 AND h.shard = m.key AND h.due_at <= (SELECT {{now}}) AND (h.topic IN (SELECT value FROM json_each($3))) <> $4),
    (
        SELECT h.due_at - (SELECT {{now}}) FROM {{schema}}.headrace_outbox_held AS h
        WHERE h.outbox = $2 AND h.shard = m.key AND h.due_at > (SELECT {{now}}) AND (h.topic IN (SELECT value FROM json_each($3))) <> $4
        ORDER BY h.due_at
        LIMIT 1
    ),
    COALESCE((SELECT max(o.id) FROM {{schema}}.headrace_outbox AS o WHERE o.outbox = $2 AND o.shard = m.key), 0)
FROM json_each($1) AS m
ORDER BY m.key
