-- What the tables say about letters that were sent: the letter after each, the message, and its
-- row of the backlog.
SELECT e.letter_id, e.rev, e.state, e.why, e.scope, e.key, e.order_key, e.next_letter, e.at, COALESCE(l.class, ''),
    COALESCE((SELECT max(n.id) FROM {{schema}}.headrace_dead_letters AS n WHERE n.previous_id = e.letter_id AND n.previous_id > 0), 0),
    COALESCE(i.state, ''), COALESCE(b.attempt, 0), b.postponed_at, CASE WHEN b.status = 'delayed' THEN b.due_at END
FROM {{schema}}.headrace_redrive_letters AS e
LEFT JOIN {{schema}}.headrace_dead_letters AS l ON l.id = e.letter_id
LEFT JOIN {{schema}}.headrace_inbox AS i ON i.scope = e.scope AND i.key = e.key
LEFT JOIN {{schema}}.headrace_backlog AS b ON b.scope = e.scope AND b.key = e.key
WHERE e.redrive_id = $1 AND e.state = 'sent' AND e.letter_id > $3 AND e.letter_id <= $4
ORDER BY e.at, e.letter_id
LIMIT $2
