-- Ready rows of a shard by place, at most $4 and of $5 bytes in all, but one at least. A
-- row of another handler than those in $6 comes without its payload and metadata. $7
-- narrows it to some rows; NULL means any. octet_length does not read a payload that is
-- stored apart.
--
-- Behind a row are two questions about its strict order key: whether an earlier row, which
-- must run first, is not ready or comes later, and whether rows wait behind it. They
-- ask for an order that only their own index has (NULLS FIRST): the planner takes most rows
-- of a key for such rows, and else reads the table, or its primary key, until it finds one.
-- The last two columns are of the snapshot: see floors.
SELECT r.id, r.place, r.handler, r.scope, COALESCE(r.key, ''), r.order_key, r.strict, COALESCE(r.fingerprint, ''), r.message_id, r.topic,
    CASE WHEN r.mine THEN r.payload END, CASE WHEN r.mine THEN r.metadata END, r.coordinates, r.trace_parent, r.trace_state,
    r.attempt, r.spent, r.reruns, COALESCE((extract(epoch FROM {{now}} - r.postponed_at) * 1000000)::bigint, 0),
    r.letter_id, r.redrives, r.reply_topic, r.starts,
    r.strict AND r.order_key <> '' AND (
        SELECT e.id FROM {{schema}}.headrace_backlog AS e
        WHERE e.strict AND e.order_key <> '' AND (e.status <> 'ready' OR e.place <> e.id)
            AND e.scope = r.scope AND e.order_key = r.order_key AND e.id < r.id
            AND (e.status <> 'ready' OR e.place > r.place)
        ORDER BY e.id NULLS FIRST
        LIMIT 1
    ) IS NOT NULL,
    r.strict AND r.order_key <> '' AND (
        SELECT f.id FROM {{schema}}.headrace_backlog AS f
        WHERE f.status = 'blocked' AND f.scope = r.scope AND f.order_key = r.order_key
        ORDER BY f.id NULLS FIRST
        LIMIT 1
    ) IS NOT NULL,
    (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint), (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
FROM (
    SELECT b.*, row_number() OVER so_far AS n,
        sum(CASE WHEN b.mine THEN COALESCE(octet_length(b.payload), 0) ELSE 0 END) OVER so_far AS bytes
    FROM (
        SELECT a.*, a.handler = ANY ($6::text[]) AS mine
        FROM {{schema}}.headrace_backlog AS a
        WHERE a.status = 'ready' AND a.consumer = $1 AND a.shard = $2 AND a.place > $3
            AND ($7::bigint[] IS NULL OR a.id = ANY ($7::bigint[]))
        ORDER BY a.place
        LIMIT $4
    ) AS b
    WINDOW so_far AS (ORDER BY b.place ROWS UNBOUNDED PRECEDING)
) AS r
WHERE r.n = 1 OR r.bytes <= $5
ORDER BY r.place
