-- The letters of one reason, onto the list of a redrive that is not there.
INSERT INTO headrace_redrive_letters (redrive_id, letter_id, rev, state, scope, key, order_key)
SELECT 0, l.id, l.rev, 'queued', l.scope, l.key, CASE WHEN l.strict THEN l.order_key ELSE '' END
FROM headrace_dead_letters AS l
WHERE l.error_fingerprint = $1 AND l.consumer = 'billing' AND l.state = 'open'
