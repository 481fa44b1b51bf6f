-- An idle look: for each shard one probe of the ready line and one of what is due,
-- and how long until the first held row will be that is not.
SELECT m.key,
    EXISTS (SELECT 1 FROM {{schema}}.headrace_outbox AS o WHERE o.shard = m.key AND o.id > m.value)
        OR EXISTS (SELECT 1 FROM {{schema}}.headrace_outbox_held AS h WHERE h.shard = m.key AND h.due_at <= CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    (
        SELECT h.due_at - CAST(unixepoch('subsec') * 1000000 AS INTEGER) FROM {{schema}}.headrace_outbox_held AS h
        WHERE h.shard = m.key AND h.due_at > CAST(unixepoch('subsec') * 1000000 AS INTEGER)
        ORDER BY h.due_at
        LIMIT 1
    )
FROM json_each($1) AS m
ORDER BY m.key
