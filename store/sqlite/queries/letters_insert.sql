-- A message is given up, whole, unless that was done before. Its failures are those
-- of the recorded attempts; a conflict has none, since they are those of the
-- message that had the key first. SQLite's clock counts milliseconds: letters of the
-- same one keep their order in the digits below.
INSERT INTO {{schema}}.headrace_dead_letters
    (class, consumer, handler, scope, key, order_key, strict, fingerprint, first_fingerprint, message_id, topic, payload,
     metadata, coordinates, trace_parent, trace_state, error, error_fingerprint, chain, stack, attempts,
     first_failure, last_failure, previous_id, redrives, host, build, environment, reply_topic, deliveries, created_at, changed_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
    $13, $14, $15, $16, $17, $18, $19, $20, $21,
    COALESCE(failed.first, clock.now), COALESCE(failed.last, clock.now), $22, $23, $24, $25, $26, $27, $28,
    clock.tick, clock.tick
FROM (
    SELECT min(a.at) AS first, max(a.at) AS last
    FROM {{schema}}.headrace_attempts AS a
    WHERE a.scope = $4 AND a.key = $5 AND $1 <> 'conflict'
) AS failed
CROSS JOIN (
    SELECT t.now, COALESCE((
        SELECT newest.created_at + 1
        FROM (SELECT l.created_at FROM {{schema}}.headrace_dead_letters AS l ORDER BY l.id DESC LIMIT 1) AS newest
        WHERE newest.created_at / 1000 = t.now / 1000
    ), t.now) AS tick
    FROM (SELECT {{now}} AS now) AS t
) AS clock
WHERE true
ON CONFLICT DO NOTHING
RETURNING id, scope, key, fingerprint, class = 'conflict'
