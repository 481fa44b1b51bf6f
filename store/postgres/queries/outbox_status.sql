-- How much the outbox holds, and the age of the oldest ready row.
SELECT
    (SELECT count(*) FROM {{schema}}.headrace_outbox),
    (SELECT count(*) FROM {{schema}}.headrace_outbox_held WHERE reason IN ('delayed', 'backoff')),
    (SELECT count(*) FROM {{schema}}.headrace_outbox_held WHERE reason = 'parked'),
    (SELECT count(*) FROM {{schema}}.headrace_outbox_held WHERE reason = 'behind'),
    COALESCE((
        SELECT (extract(epoch FROM {{now}} - min(first.created_at)) * 1000000)::bigint
        FROM generate_series(0, 63) AS s (shard)
        CROSS JOIN LATERAL (
            SELECT o.created_at FROM {{schema}}.headrace_outbox AS o
            WHERE o.shard = s.shard::smallint
            ORDER BY o.id
            LIMIT 1
        ) AS first
    ), 0)
