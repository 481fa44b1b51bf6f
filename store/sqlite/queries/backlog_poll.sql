-- An idle look: one probe of an index for each shard, and one for what is due. It
-- never walks over rows that are not ready.
SELECT
    (
        SELECT json_group_array(m.key)
        FROM json_each($2) AS m
        WHERE EXISTS (
            SELECT 1 FROM {{schema}}.headrace_backlog AS b
            WHERE b.status = 'ready' AND b.consumer = $1 AND b.shard = m.key AND b.place > m.value
        )
    ),
    (
        SELECT b.due_at - {{now}}
        FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'delayed' AND b.consumer = $1
        ORDER BY b.due_at
        LIMIT 1
    )
