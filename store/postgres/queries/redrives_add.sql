-- The next open letters of a filter go onto the list, by id. A letter's order counts only where
-- it is strict. The letters of one reason are compared as in letters_take.
INSERT INTO {{schema}}.headrace_redrive_letters (redrive_id, letter_id, state, scope, key, order_key)
SELECT $13, l.id, 'queued', l.scope, l.key, CASE WHEN l.strict THEN l.order_key ELSE '' END
FROM {{schema}}.headrace_dead_letters AS l
WHERE ($1::text = '' OR l.state = $1::text)
    AND (cardinality($2::bigint[]) = 0 OR l.id = ANY ($2::bigint[]))
    AND ($3::text = '' OR l.consumer = $3::text)
    AND ($4::text = '' OR l.handler = $4::text)
    AND ($5::text = '' OR l.topic = $5::text)
    AND ($6::text = '' OR l.class = $6::text)
    AND ($7::text = '' OR (l.error_fingerprint, l.id) > ($7::text, $11::bigint)
        AND (l.error_fingerprint, l.id) <= ($7::text, 9223372036854775807))
    AND ($8::text = '' OR l.key = $8::text)
    AND ($9::timestamptz IS NULL OR l.created_at >= $9::timestamptz)
    AND ($10::timestamptz IS NULL OR l.created_at < $10::timestamptz)
    AND l.state = 'open' AND l.id > $11::bigint
ORDER BY CASE WHEN $7::text <> '' THEN l.error_fingerprint END, l.id
LIMIT $12
RETURNING letter_id
