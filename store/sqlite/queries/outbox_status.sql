-- How much the outbox holds, and the age of the oldest ready row.
SELECT
    (SELECT count(*) FROM {{schema}}.headrace_outbox),
    (SELECT count(*) FROM {{schema}}.headrace_outbox_held WHERE due_at IS NOT NULL), -- 'delayed' and 'backoff'
    (SELECT count(*) FROM {{schema}}.headrace_outbox_held WHERE reason = 'parked'),
    (SELECT count(*) FROM {{schema}}.headrace_outbox_held) -- 'behind': the others
        - (SELECT count(*) FROM {{schema}}.headrace_outbox_held WHERE due_at IS NOT NULL)
        - (SELECT count(*) FROM {{schema}}.headrace_outbox_held WHERE reason = 'parked'),
    COALESCE((
        SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - min((
            SELECT o.created_at FROM {{schema}}.headrace_outbox AS o
            WHERE o.shard = s.value
            ORDER BY o.id
            LIMIT 1
        ))
        FROM json_each('[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]') AS s
    ), 0)
