-- How much each outbox holds, at most $3 rows that are ready and of each kind of held ones, the age of its
-- oldest ready row, and its live relays: of the outbox $1, or of all that have rows or a relay. It jumps
-- from outbox to outbox.
WITH RECURSIVE shards (value) AS (
    VALUES (0) UNION ALL SELECT value + 1 FROM shards WHERE value < 63
), ready AS (
    SELECT min(o.outbox) AS outbox FROM {{schema}}.headrace_outbox AS o
    UNION ALL
    SELECT (SELECT min(o.outbox) FROM {{schema}}.headrace_outbox AS o WHERE o.outbox > ready.outbox) FROM ready WHERE ready.outbox IS NOT NULL
), held AS (
    SELECT min(h.outbox) AS outbox FROM {{schema}}.headrace_outbox_held AS h
    UNION ALL
    SELECT (SELECT min(h.outbox) FROM {{schema}}.headrace_outbox_held AS h WHERE h.outbox > held.outbox) FROM held WHERE held.outbox IS NOT NULL
), relay AS (
    SELECT r.outbox, sum(r.serves) AS serves, sum(NOT r.serves) AS waits, max(r.sink) FILTER (WHERE r.serves) AS sink
    FROM {{schema}}.headrace_relays AS r
    WHERE ($1 = '' OR r.outbox = $1) AND r.beat_at > {{now}} - $2
    GROUP BY r.outbox
), name AS (
    SELECT n.outbox FROM (SELECT outbox FROM ready UNION SELECT outbox FROM held UNION SELECT outbox FROM relay) AS n
    WHERE n.outbox IS NOT NULL AND ($1 = '' OR n.outbox = $1)
), counted AS (
    SELECT name.outbox,
        (SELECT count(*) FROM (
            SELECT 1 FROM {{schema}}.headrace_outbox AS o WHERE o.outbox = name.outbox ORDER BY o.shard, o.id LIMIT $3
        ) AS c) AS ready,
        (SELECT count(*) FROM (
            SELECT 1 FROM {{schema}}.headrace_outbox_held AS h WHERE h.outbox = name.outbox AND h.due_at IS NOT NULL ORDER BY h.shard, h.due_at, h.id LIMIT $3
        ) AS c) AS delayed,
        (SELECT count(*) FROM (
            SELECT 1 FROM {{schema}}.headrace_outbox_held AS h WHERE h.outbox = name.outbox AND h.reason = 'parked' ORDER BY h.id LIMIT $3
        ) AS c) AS parked,
        (SELECT count(*) FROM (
            SELECT 1 FROM {{schema}}.headrace_outbox_held AS h WHERE h.outbox = name.outbox ORDER BY h.shard, h.id LIMIT $3
        ) AS c) AS held
    FROM name
)
SELECT counted.outbox, counted.ready, counted.delayed, counted.parked,
    max(counted.held - counted.delayed - counted.parked, 0), -- 'behind': the others
    COALESCE((
        SELECT {{now}} - min((
            SELECT o.created_at FROM {{schema}}.headrace_outbox AS o
            WHERE o.outbox = counted.outbox AND o.shard = s.value
            ORDER BY o.id
            LIMIT 1
        ))
        FROM shards AS s
    ), 0),
    COALESCE(relay.serves, 0), COALESCE(relay.waits, 0), COALESCE(relay.sink, '')
FROM counted
LEFT JOIN relay ON relay.outbox = counted.outbox
ORDER BY counted.outbox
