-- Where the first row of an order goes, the one behind it takes its place and is
-- due, so that there is always a row that a look for work can see. Before the rows
-- $2 are deleted.
UPDATE {{schema}}.headrace_outbox_held AS h
SET reason = 'backoff', due_at = {{now}}
WHERE h.outbox = $3 AND h.shard = $1 AND h.reason = 'behind' AND h.id IN (
    SELECT (
        SELECT n.id FROM {{schema}}.headrace_outbox_held AS n
        WHERE n.outbox = $3 AND n.shard = $1 AND n.topic = o.topic AND n.order_key = o.order_key AND n.order_key <> ''
            AND n.reason <> 'delayed' AND n.id NOT IN (SELECT r.value FROM json_each($2) AS r)
        ORDER BY n.id
        LIMIT 1
    )
    FROM (
        SELECT DISTINCT gone.topic, gone.order_key
        FROM json_each($2) AS r
        CROSS JOIN {{schema}}.headrace_outbox_held AS gone ON gone.outbox = $3 AND gone.shard = $1 AND gone.id = r.value
        WHERE gone.order_key <> '' AND gone.reason <> 'delayed'
    ) AS o
)
