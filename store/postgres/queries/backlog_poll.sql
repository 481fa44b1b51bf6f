-- An idle look: the shards with ready rows above their marks, and what is due next. It
-- goes from shard to shard along the index: from the mark of one to its first row above,
-- or else to the first row of a shard behind it. So an empty backlog is one probe, and
-- rows that are not ready are never seen.
WITH RECURSIVE look AS (
    SELECT 0 AS next, NULL::integer AS found
    UNION ALL
    SELECT CASE WHEN f.place > f.mark THEN f.shard + 1 ELSE f.shard END, CASE WHEN f.place > f.mark THEN f.shard END
    FROM look
    CROSS JOIN LATERAL (
        SELECT b.shard, b.place, ($2::bigint[])[b.shard + 1] AS mark
        FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'ready' AND b.consumer = $1
            AND (b.shard, b.place) > (look.next::smallint, ($2::bigint[])[look.next + 1])
        ORDER BY b.shard, b.place
        LIMIT 1
    ) AS f
    WHERE look.next < cardinality($2::bigint[])
)
SELECT
    array_to_json(ARRAY(SELECT look.found FROM look WHERE look.found IS NOT NULL))::text,
    (
        SELECT (extract(epoch FROM b.due_at - {{now}}) * 1000000)::bigint
        FROM {{schema}}.headrace_backlog AS b
        WHERE b.status = 'delayed' AND b.consumer = $1
        ORDER BY b.due_at
        LIMIT 1
    )
