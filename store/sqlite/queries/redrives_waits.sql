-- The first letter that waits behind its order key, and how many wait behind that key.
SELECT e.letter_id, e.rev, e.state, e.why, e.scope, e.key, e.order_key, e.next_letter, e.at, (
    SELECT count(*) FROM {{schema}}.headrace_redrive_letters AS o INDEXED BY headrace_redrive_letters_order
    WHERE o.redrive_id = e.redrive_id AND o.scope = e.scope AND o.order_key = e.order_key AND o.order_key <> '' AND o.state = 'queued'
)
FROM {{schema}}.headrace_redrive_letters AS e INDEXED BY headrace_redrive_letters_queued
WHERE e.redrive_id = $1 AND e.state = 'queued' AND e.order_key <> ''
ORDER BY e.letter_id
LIMIT 1
