-- What waits in the outbox or on the line $1, by topic, and whether a process publishes it: at
-- most $2 rows of each shard, ready and held.
WITH RECURSIVE shards (value) AS (
    VALUES (0) UNION ALL SELECT value + 1 FROM shards WHERE value < 63
), waiting AS (
    SELECT o.topic, o.created_at AS since
    FROM shards AS s
    CROSS JOIN {{schema}}.headrace_outbox AS o ON o.outbox = $1 AND o.shard = s.value AND o.id <= COALESCE((
        SELECT last.id FROM {{schema}}.headrace_outbox AS last
        WHERE last.outbox = $1 AND last.shard = s.value
        ORDER BY last.id
        LIMIT 1 OFFSET $2 - 1
    ), 9223372036854775807)
    UNION ALL
    SELECT h.topic, CASE WHEN h.reason = 'delayed' AND h.error = '' THEN h.due_at ELSE h.created_at END
    FROM shards AS s
    CROSS JOIN {{schema}}.headrace_outbox_held AS h ON h.outbox = $1 AND h.shard = s.value AND h.id <= COALESCE((
        SELECT last.id FROM {{schema}}.headrace_outbox_held AS last
        WHERE last.outbox = $1 AND last.shard = s.value
        ORDER BY last.id
        LIMIT 1 OFFSET $2 - 1
    ), 9223372036854775807)
)
SELECT waiting.topic, count(*), max({{now}} - min(waiting.since), 0),
    EXISTS (SELECT 1 FROM {{schema}}.headrace_relays AS r WHERE r.outbox = $1 AND r.beat_at > {{now}} - $3)
FROM waiting
GROUP BY waiting.topic
ORDER BY waiting.topic
