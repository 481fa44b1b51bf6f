-- Published rows ($2, ascending), from whichever line they stand on. Where the first row
-- of an order goes, the one behind it takes its place and is due, so that there is always
-- a row that a look for work can see. The ready rows were read along the index, and are
-- deleted in one walk over the same part of it: from the first to the last that is ready.
-- width_bucket is a binary search; a plan for id = ANY ($2) may walk over the whole shard.
-- The held ones are joined by all of their key, which the planner cannot take apart.
WITH asked AS MATERIALIZED (
    SELECT $3::text AS outbox, $1::smallint AS shard, r.id FROM unnest($2::bigint[]) AS r (id)
), ends AS MATERIALIZED (
    SELECT (
        SELECT ready.id
        FROM generate_subscripts($2::bigint[], 1) AS i
        CROSS JOIN LATERAL (
            SELECT o.id FROM {{schema}}.headrace_outbox AS o
            WHERE o.outbox = $3 AND o.shard = $1 AND o.id = ($2::bigint[])[i]
            LIMIT 1
        ) AS ready
        LIMIT 1
    ) AS first, (
        SELECT ready.id
        FROM generate_subscripts($2::bigint[], 1, true) AS i
        CROSS JOIN LATERAL (
            SELECT o.id FROM {{schema}}.headrace_outbox AS o
            WHERE o.outbox = $3 AND o.shard = $1 AND o.id = ($2::bigint[])[i]
            LIMIT 1
        ) AS ready
        LIMIT 1
    ) AS last
), published AS (
    DELETE FROM {{schema}}.headrace_outbox AS o
    WHERE o.outbox = $3 AND o.shard = $1 AND o.id >= (SELECT ends.first FROM ends) AND o.id <= (SELECT ends.last FROM ends)
        AND ($2::bigint[])[width_bucket(o.id, $2::bigint[])] = o.id
), gone AS (
    DELETE FROM {{schema}}.headrace_outbox_held AS h
    USING asked AS r
    WHERE h.outbox = r.outbox AND h.shard = r.shard AND h.id = r.id
    RETURNING h.topic, h.order_key, h.reason
), next AS MATERIALIZED (
    SELECT behind.outbox, behind.shard, behind.id
    FROM (SELECT DISTINCT topic, order_key FROM gone WHERE order_key <> '' AND reason <> 'delayed') AS o
    CROSS JOIN LATERAL (
        SELECT h.outbox, h.shard, h.id FROM {{schema}}.headrace_outbox_held AS h
        WHERE h.outbox = $3 AND h.shard = $1 AND h.topic = o.topic AND h.order_key = o.order_key AND h.order_key <> ''
            AND h.reason <> 'delayed' AND h.id <> ALL ($2::bigint[])
        ORDER BY h.id
        LIMIT 1
    ) AS behind
)
UPDATE {{schema}}.headrace_outbox_held AS h
SET reason = 'backoff', due_at = {{now}}
FROM next
WHERE h.outbox = next.outbox AND h.shard = next.shard AND h.id = next.id AND h.reason = 'behind'
