-- How much each outbox holds, the age of its oldest ready row, and its live relays: of
-- the outbox $1, or of all that have rows or a relay.
WITH ready AS (
    SELECT o.outbox, count(*) AS n FROM {{schema}}.headrace_outbox AS o
    WHERE $1 = '' OR o.outbox = $1
    GROUP BY o.outbox
), held AS (
    SELECT h.outbox, count(*) FILTER (WHERE h.reason IN ('delayed', 'backoff')) AS delayed,
        count(*) FILTER (WHERE h.reason = 'parked') AS parked, count(*) FILTER (WHERE h.reason = 'behind') AS behind
    FROM {{schema}}.headrace_outbox_held AS h
    WHERE $1 = '' OR h.outbox = $1
    GROUP BY h.outbox
), relay AS (
    SELECT r.outbox, count(*) FILTER (WHERE r.serves) AS serves, count(*) FILTER (WHERE NOT r.serves) AS waits,
        COALESCE(max(r.sink) FILTER (WHERE r.serves), '') AS sink
    FROM {{schema}}.headrace_relays AS r
    WHERE ($1 = '' OR r.outbox = $1) AND r.beat_at > (SELECT {{now}} - $2::bigint * interval '1 microsecond')
    GROUP BY r.outbox
), name AS (
    SELECT outbox FROM ready UNION SELECT outbox FROM held UNION SELECT outbox FROM relay
)
SELECT name.outbox, COALESCE(ready.n, 0), COALESCE(held.delayed, 0), COALESCE(held.parked, 0), COALESCE(held.behind, 0),
    COALESCE((
        SELECT (extract(epoch FROM {{now}} - min(first.created_at)) * 1000000)::bigint
        FROM generate_series(0, 63) AS s (shard)
        CROSS JOIN LATERAL (
            SELECT o.created_at FROM {{schema}}.headrace_outbox AS o
            WHERE o.outbox = name.outbox AND o.shard = s.shard::smallint
            ORDER BY o.id
            LIMIT 1
        ) AS first
    ), 0),
    COALESCE(relay.serves, 0), COALESCE(relay.waits, 0), COALESCE(relay.sink, '')
FROM name
LEFT JOIN ready ON ready.outbox = name.outbox
LEFT JOIN held ON held.outbox = name.outbox
LEFT JOIN relay ON relay.outbox = name.outbox
ORDER BY name.outbox
