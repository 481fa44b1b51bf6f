-- Letters go onto the list of a redrive, by their ids, if they are open. A letter's order counts
-- only where it is strict.
INSERT INTO {{schema}}.headrace_redrive_letters (redrive_id, letter_id, rev, state, scope, key, order_key)
SELECT $2, l.id, l.rev, 'queued', l.scope, l.key, CASE WHEN l.strict THEN l.order_key ELSE '' END
FROM {{schema}}.headrace_dead_letters AS l
WHERE l.id = ANY ($1::bigint[]) AND l.consumer = $3 AND l.state = 'open'
