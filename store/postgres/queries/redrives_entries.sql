-- The letters of a redrive, by letter.
SELECT e.letter_id, e.rev, e.state, e.why, e.scope, e.key, e.order_key, e.next_letter, e.at
FROM {{schema}}.headrace_redrive_letters AS e
WHERE e.redrive_id = $1 AND ($2::text = '' OR e.state = $2::text) AND e.letter_id > $3
ORDER BY e.letter_id
LIMIT $4
