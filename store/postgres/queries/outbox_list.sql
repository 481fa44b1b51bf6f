-- How much each outbox holds, at most $3 rows that are ready and of each kind of held ones, the age of its
-- oldest ready row, and its live relays: of the outbox $1, or of all that have rows or a relay. It jumps
-- from shard to shard. The planner takes a range for rare and so the jumps for few; with more it would have
-- the statement compiled, which takes longer than the statement.
WITH RECURSIVE head AS (
    (SELECT o.outbox, o.shard, o.created_at FROM {{schema}}.headrace_outbox AS o WHERE o.outbox >= $1 ORDER BY o.outbox, o.shard, o.id LIMIT 1)
    UNION ALL
    SELECT f.* FROM head
    CROSS JOIN LATERAL (
        SELECT o.outbox, o.shard, o.created_at FROM {{schema}}.headrace_outbox AS o
        WHERE (o.outbox, o.shard) > (head.outbox, head.shard) ORDER BY o.outbox, o.shard, o.id LIMIT 1
    ) AS f
    WHERE head.shard BETWEEN 0 AND 63 AND ($1 = '' OR head.outbox = $1)
), held AS (
    (SELECT h.outbox, h.shard FROM {{schema}}.headrace_outbox_held AS h WHERE h.outbox >= $1 ORDER BY h.outbox, h.shard, h.id LIMIT 1)
    UNION ALL
    SELECT f.* FROM held
    CROSS JOIN LATERAL (
        SELECT h.outbox, h.shard FROM {{schema}}.headrace_outbox_held AS h WHERE h.outbox > held.outbox ORDER BY h.outbox, h.shard, h.id LIMIT 1
    ) AS f
    WHERE held.shard BETWEEN 0 AND 63 AND ($1 = '' OR held.outbox = $1)
), relay AS (
    SELECT r.outbox, count(*) FILTER (WHERE r.serves) AS serves, count(*) FILTER (WHERE NOT r.serves) AS waits,
        COALESCE(max(r.sink) FILTER (WHERE r.serves), '') AS sink
    FROM {{schema}}.headrace_relays AS r
    WHERE ($1 = '' OR r.outbox = $1) AND r.beat_at > (SELECT {{now}} - $2::bigint * interval '1 microsecond') AND r.beat_at < 'infinity'
    GROUP BY r.outbox
), name AS (
    SELECT n.outbox FROM (SELECT outbox FROM head UNION SELECT outbox FROM held UNION SELECT outbox FROM relay) AS n
    WHERE $1 = '' OR n.outbox = $1
), counted AS (
    SELECT name.outbox,
        (SELECT count(*) FROM (
            SELECT FROM {{schema}}.headrace_outbox AS o WHERE o.outbox = name.outbox ORDER BY o.shard, o.id LIMIT $3
        ) AS c) AS ready,
        (SELECT count(*) FROM (
            SELECT FROM {{schema}}.headrace_outbox_held AS h WHERE h.outbox = name.outbox AND h.due_at IS NOT NULL ORDER BY h.shard, h.due_at, h.id LIMIT $3
        ) AS c) AS delayed,
        (SELECT count(*) FROM (
            SELECT FROM {{schema}}.headrace_outbox_held AS h WHERE h.outbox = name.outbox AND h.reason = 'parked' ORDER BY h.id LIMIT $3
        ) AS c) AS parked,
        (SELECT count(*) FROM (
            SELECT FROM {{schema}}.headrace_outbox_held AS h WHERE h.outbox = name.outbox ORDER BY h.shard, h.id LIMIT $3
        ) AS c) AS held
    FROM name
)
SELECT counted.outbox, counted.ready, counted.delayed, counted.parked,
    GREATEST(counted.held - counted.delayed - counted.parked, 0), -- 'behind': the others
    COALESCE((SELECT (extract(epoch FROM {{now}} - min(head.created_at)) * 1000000)::bigint FROM head WHERE head.outbox = counted.outbox), 0),
    COALESCE(relay.serves, 0), COALESCE(relay.waits, 0), COALESCE(relay.sink, '')
FROM counted
LEFT JOIN relay ON relay.outbox = counted.outbox
ORDER BY counted.outbox
