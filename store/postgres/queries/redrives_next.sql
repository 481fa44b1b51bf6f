-- The first queued letters. Of a strict order key one letter is under way at a time, the oldest
-- first. The LATERAL reads each letter by its id, whatever the statistics say: a merge read all
-- letters up to the first queued one, in each step.
SELECT e.letter_id, e.rev, e.state, e.why, e.scope, e.key, e.order_key, e.next_letter, e.at, COALESCE(l.class, ''), COALESCE(l.state, ''),
    COALESCE(l.handler, ''), COALESCE(l.bytes, 0)
FROM (
    SELECT q.* FROM {{schema}}.headrace_redrive_letters AS q
    WHERE q.redrive_id = $1 AND q.state = 'queued' AND (q.order_key = '' OR NOT EXISTS (
            SELECT 1 FROM {{schema}}.headrace_redrive_letters AS o
            WHERE o.redrive_id = q.redrive_id AND o.scope = q.scope AND o.order_key = q.order_key AND o.order_key <> ''
                AND o.state IN ('queued', 'sent') AND (o.letter_id < q.letter_id OR o.state = 'sent')
        ))
    ORDER BY q.letter_id
    LIMIT $2
) AS e
LEFT JOIN LATERAL (
    SELECT d.class, d.state, d.handler, octet_length(d.payload) AS bytes FROM {{schema}}.headrace_dead_letters AS d
    WHERE d.id = e.letter_id
    LIMIT 1
) AS l ON true
ORDER BY e.letter_id
