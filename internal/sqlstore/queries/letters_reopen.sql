-- A redriven letter is open again, unless another one of its message is.
UPDATE {{schema}}.headrace_dead_letters AS l
SET state = 'open', changed_at = {{now}}, last_failure = {{now}}, redrives = l.redrives + 1,
    error = $2, error_fingerprint = $3, chain = $4
WHERE l.id = $1 AND l.state = 'redriven' AND NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_dead_letters AS o
    WHERE o.scope = l.scope AND o.key = l.key AND o.fingerprint = l.fingerprint AND o.state = 'open' AND o.class <> 'conflict'
)
RETURNING scope, key, fingerprint
