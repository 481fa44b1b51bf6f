-- An idle look: one probe of an index for each shard, and one for what is due. It
-- never walks over rows that cannot be worked off.
SELECT
    (
        SELECT json_group_array(m.key)
        FROM json_each($2) AS m
        WHERE EXISTS (
            SELECT 1 FROM {{schema}}.headrace_backlog AS b
            WHERE b.line = 'ready' AND b.consumer = $1 AND b.shard = m.key AND b.id > m.value
        )
    ),
    (
        SELECT b.due_at - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        FROM {{schema}}.headrace_backlog AS b
        WHERE b.line = 'delayed' AND b.consumer = $1
        ORDER BY b.due_at
        LIMIT 1
    )
