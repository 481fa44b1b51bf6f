-- An idle look: for each shard one probe of the ready line and two of what is held,
-- for rows that are due and for the first that will be.
SELECT m.key,
    EXISTS (SELECT 1 FROM {{schema}}.headrace_outbox AS o WHERE o.shard = m.key AND o.id > m.value)
        OR EXISTS (SELECT 1 FROM {{schema}}.headrace_outbox_held AS h WHERE h.shard = m.key AND h.due_at <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    (
        SELECT h.due_at - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 FROM {{schema}}.headrace_outbox_held AS h
        WHERE h.shard = m.key AND h.due_at > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        ORDER BY h.due_at
        LIMIT 1
    )
FROM json_each($1) AS m
ORDER BY m.key
