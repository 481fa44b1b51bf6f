-- The first queued letters. Of a strict order key one letter is under way at a time, the oldest
-- first.
SELECT e.letter_id, e.rev, e.state, e.why, e.scope, e.key, e.order_key, e.next_letter, e.at, COALESCE(l.class, ''), COALESCE(l.state, ''),
    COALESCE(l.handler, ''), COALESCE(octet_length(l.payload), 0)
FROM {{schema}}.headrace_redrive_letters AS e
LEFT JOIN {{schema}}.headrace_dead_letters AS l ON l.id = e.letter_id
WHERE e.redrive_id = $1 AND e.state = 'queued' AND (e.order_key = '' OR NOT EXISTS (
        SELECT 1 FROM {{schema}}.headrace_redrive_letters AS o
        WHERE o.redrive_id = e.redrive_id AND o.scope = e.scope AND o.order_key = e.order_key AND o.order_key <> ''
            AND o.state IN ('queued', 'sent') AND (o.letter_id < e.letter_id OR o.state = 'sent')
    ))
ORDER BY e.letter_id
LIMIT $2
