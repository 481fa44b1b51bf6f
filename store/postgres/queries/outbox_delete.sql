-- Published rows, from whichever line they stand on. Where the first row of an
-- order goes, the one behind it takes its place and is due, so that there is always
-- a row that a look for work can see.
WITH published AS (
    DELETE FROM {{schema}}.headrace_outbox WHERE shard = $1 AND id = ANY ($2::bigint[])
), gone AS (
    DELETE FROM {{schema}}.headrace_outbox_held WHERE shard = $1 AND id = ANY ($2::bigint[])
    RETURNING topic, order_key, reason
), next AS MATERIALIZED (
    SELECT behind.id
    FROM (SELECT DISTINCT topic, order_key FROM gone WHERE order_key <> '' AND reason <> 'delayed') AS o
    CROSS JOIN LATERAL (
        SELECT h.id FROM {{schema}}.headrace_outbox_held AS h
        WHERE h.shard = $1 AND h.topic = o.topic AND h.order_key = o.order_key AND h.order_key <> ''
            AND h.reason <> 'delayed' AND h.id <> ALL ($2::bigint[])
        ORDER BY h.id
        LIMIT 1
    ) AS behind
)
UPDATE {{schema}}.headrace_outbox_held AS h
SET reason = 'backoff', due_at = clock_timestamp()
FROM next
WHERE h.shard = $1 AND h.id = next.id AND h.reason = 'behind'
