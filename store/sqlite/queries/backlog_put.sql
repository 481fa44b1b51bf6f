-- A new row, on its line.
INSERT INTO {{schema}}.headrace_backlog
    (id, consumer, shard, line, due_at, handler, scope, key, order_key, strict, fingerprint, message_id, topic,
     payload, metadata, coordinates, trace_parent, trace_state, attempt, spent, letter_id, redrives,
     reply_topic)
SELECT $1, $2, $3,
    CASE WHEN $4 THEN 'blocked' WHEN $5 > 0 THEN 'delayed' ELSE 'ready' END,
    CASE WHEN NOT $4 AND $5 > 0 THEN (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + $5) / 1000 * 1000 END,
    $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23
