-- How much each outbox holds, the age of its oldest ready row, and its live relays: of
-- the outbox $1, or of all that have rows or a relay.
WITH RECURSIVE shards (value) AS (
    VALUES (0) UNION ALL SELECT value + 1 FROM shards WHERE value < 63
), ready AS (
    SELECT o.outbox, count(*) AS n FROM {{schema}}.headrace_outbox AS o
    WHERE $1 = '' OR o.outbox = $1
    GROUP BY o.outbox
), held AS (
    SELECT h.outbox, count(*) AS n FROM {{schema}}.headrace_outbox_held AS h
    WHERE $1 = '' OR h.outbox = $1
    GROUP BY h.outbox
), due AS ( -- 'delayed' and 'backoff'
    SELECT h.outbox, count(*) AS n FROM {{schema}}.headrace_outbox_held AS h
    WHERE h.due_at IS NOT NULL AND ($1 = '' OR h.outbox = $1)
    GROUP BY h.outbox
), parked AS (
    SELECT h.outbox, count(*) AS n FROM {{schema}}.headrace_outbox_held AS h
    WHERE h.reason = 'parked' AND ($1 = '' OR h.outbox = $1)
    GROUP BY h.outbox
), relay AS (
    SELECT r.outbox, sum(r.serves) AS serves, sum(NOT r.serves) AS waits, max(r.sink) FILTER (WHERE r.serves) AS sink
    FROM {{schema}}.headrace_relays AS r
    WHERE ($1 = '' OR r.outbox = $1) AND r.beat_at > {{now}} - $2
    GROUP BY r.outbox
), name AS (
    SELECT outbox FROM ready UNION SELECT outbox FROM held UNION SELECT outbox FROM relay
)
SELECT name.outbox, COALESCE(ready.n, 0), COALESCE(due.n, 0), COALESCE(parked.n, 0),
    COALESCE(held.n, 0) - COALESCE(due.n, 0) - COALESCE(parked.n, 0), -- 'behind': the others
    COALESCE((
        SELECT {{now}} - min((
            SELECT o.created_at FROM {{schema}}.headrace_outbox AS o
            WHERE o.outbox = name.outbox AND o.shard = s.value
            ORDER BY o.id
            LIMIT 1
        ))
        FROM shards AS s
    ), 0),
    COALESCE(relay.serves, 0), COALESCE(relay.waits, 0), COALESCE(relay.sink, '')
FROM name
LEFT JOIN ready ON ready.outbox = name.outbox
LEFT JOIN held ON held.outbox = name.outbox
LEFT JOIN due ON due.outbox = name.outbox
LEFT JOIN parked ON parked.outbox = name.outbox
LEFT JOIN relay ON relay.outbox = name.outbox
ORDER BY name.outbox
