-- The next open letters of a filter go onto the list, by id. A letter's order counts only where
-- it is strict.
INSERT INTO {{schema}}.headrace_redrive_letters (redrive_id, letter_id, state, scope, key, order_key, at)
SELECT $13, l.id, 'queued', l.scope, l.key, CASE WHEN l.strict THEN l.order_key ELSE '' END, {{now}}
FROM {{schema}}.headrace_dead_letters AS l
WHERE ($1 = '' OR l.state = $1)
    AND (json_array_length($2) = 0 OR l.id IN (SELECT r.value FROM json_each($2) AS r))
    AND ($3 = '' OR l.consumer = $3)
    AND ($4 = '' OR l.handler = $4)
    AND ($5 = '' OR l.topic = $5)
    AND ($6 = '' OR l.class = $6)
    AND ($7 = '' OR l.error_fingerprint = $7)
    AND ($8 = '' OR l.key = $8)
    AND ($9 IS NULL OR l.created_at >= $9)
    AND ($10 IS NULL OR l.created_at < $10)
    AND l.state = 'open' AND l.id > $11
ORDER BY l.id
LIMIT $12
RETURNING letter_id
