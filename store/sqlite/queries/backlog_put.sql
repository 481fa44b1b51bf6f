-- A new row, with the $26th id before the last that was taken of the sequence. Until it
-- becomes ready anew, its id is its place. A row without a key has no fingerprint either.
INSERT INTO {{schema}}.headrace_backlog
    (id, place, consumer, shard, status, due_at, ready_at, handler, scope, key, order_key, strict, fingerprint, message_id, topic,
     payload, metadata, coordinates, trace_parent, trace_state, attempt, spent, reruns, postponed_at, reason, letter_id, redrives,
     reply_topic, error_fingerprint)
SELECT s.last - $26, s.last - $26, $1, $2,
    CASE WHEN $3 > 0 THEN 'delayed' ELSE 'ready' END,
    CASE WHEN $3 > 0 THEN ({{now}} + $3) / 1000 * 1000 END,
    {{now}}, $4, $5, NULLIF($6, ''), $7, $8, CASE WHEN $6 <> '' THEN $9 END, $10, $11,
    $12, $13, $14, $15, $16, $17, $18, $19, CASE WHEN $20 > 0 THEN {{now}} - $20 END, $21, $22, $23,
    $24, $25
FROM {{schema}}.headrace_sequences AS s WHERE s.name = 'backlog'
