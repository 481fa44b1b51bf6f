-- Ready rows of a shard by place, at most $4 and of $5 bytes in all, but one at least. A
-- row of another handler than those in $6 comes without its payload and metadata. $7
-- narrows it to some rows; NULL means any. octet_length does not read a payload.
--
-- Behind a row are two questions about its strict order key: whether an earlier row, which
-- must run first, is not ready or comes later, and whether rows wait behind it. The last
-- two columns are of a snapshot, which is not needed here.
SELECT b.id, b.place, b.handler, b.scope, COALESCE(b.key, ''), b.order_key, b.strict, COALESCE(b.fingerprint, ''), b.message_id, b.topic,
    CASE WHEN r.mine THEN b.payload END, CASE WHEN r.mine THEN b.metadata END, b.coordinates, b.trace_parent, b.trace_state,
    b.attempt, b.spent, b.reruns, COALESCE({{now}} - b.postponed_at, 0),
    b.letter_id, b.redrives, b.reply_topic, b.starts,
    b.strict AND b.order_key <> '' AND EXISTS (
        SELECT 1 FROM {{schema}}.headrace_backlog AS e
        WHERE e.strict AND e.order_key <> '' AND (e.status <> 'ready' OR e.place <> e.id)
            AND e.scope = b.scope AND e.order_key = b.order_key AND e.id < b.id
            AND (e.status <> 'ready' OR e.place > b.place)
    ),
    b.strict AND b.order_key <> '' AND EXISTS (
        SELECT 1 FROM {{schema}}.headrace_backlog AS f
        WHERE f.status = 'blocked' AND f.scope = b.scope AND f.order_key = b.order_key
    ),
    0, 0
FROM (
    SELECT s.id, s.mine, row_number() OVER so_far AS n, sum(s.size) OVER so_far AS bytes
    FROM (
        SELECT w.id, w.place, w.mine, CASE WHEN w.mine THEN w.size ELSE 0 END AS size
        FROM (
            SELECT a.id, a.place, a.handler IN (SELECT h.value FROM json_each($6) AS h) AS mine, COALESCE(octet_length(a.payload), 0) AS size
            FROM {{schema}}.headrace_backlog AS a
            WHERE a.status = 'ready' AND a.consumer = $1 AND a.shard = $2 AND a.place > $3
                AND ($7 IS NULL OR a.id IN (SELECT i.value FROM json_each($7) AS i))
            ORDER BY a.place
            LIMIT $4
        ) AS w
    ) AS s
    WINDOW so_far AS (ORDER BY s.place ROWS UNBOUNDED PRECEDING)
) AS r
CROSS JOIN {{schema}}.headrace_backlog AS b ON b.id = r.id
WHERE r.n = 1 OR r.bytes <= $5
ORDER BY b.place
