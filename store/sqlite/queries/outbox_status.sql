-- How much the outbox holds, and the age of the oldest ready row.
WITH RECURSIVE shards (value) AS (
    VALUES (0) UNION ALL SELECT value + 1 FROM shards WHERE value < 63
)
SELECT
    (SELECT count(*) FROM {{schema}}.headrace_outbox),
    (SELECT count(*) FROM {{schema}}.headrace_outbox_held WHERE due_at IS NOT NULL), -- 'delayed' and 'backoff'
    (SELECT count(*) FROM {{schema}}.headrace_outbox_held WHERE reason = 'parked'),
    (SELECT count(*) FROM {{schema}}.headrace_outbox_held) -- 'behind': the others
        - (SELECT count(*) FROM {{schema}}.headrace_outbox_held WHERE due_at IS NOT NULL)
        - (SELECT count(*) FROM {{schema}}.headrace_outbox_held WHERE reason = 'parked'),
    COALESCE((
        SELECT {{now}} - min((
            SELECT o.created_at FROM {{schema}}.headrace_outbox AS o
            WHERE o.shard = s.value
            ORDER BY o.id
            LIMIT 1
        ))
        FROM shards AS s
    ), 0)
