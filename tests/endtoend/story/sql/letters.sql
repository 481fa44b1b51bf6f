-- The consumer's dead letters, whole, and where their messages are now. One that was sent on its way again is left
-- out unless it was edited: its bytes then are those of no invoice, so the inbox tells what became of it.
SELECT l.id, l.key, l.message_id, l.payload, l.metadata, l.coordinates,
       CASE WHEN l.state = 'redriven' AND i.state = 'done' THEN 'applied'
            WHEN l.state = 'redriven' AND i.state = 'waiting' THEN 'waiting' ELSE 'dead' END
FROM headrace_dead_letters l LEFT JOIN headrace_inbox i ON i.scope = l.scope AND i.key = l.key
WHERE l.consumer = $3 AND (l.state <> 'redriven' OR l.rev > 0 AND i.state IS NOT NULL) AND l.id > $1 ORDER BY l.id LIMIT $2
