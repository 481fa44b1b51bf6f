-- Discarded letters of a consumer are open again, unless another one of their message is. Earlier
-- letters of the same message are skipped.
UPDATE {{schema}}.headrace_dead_letters
SET state = 'open', changed_at = {{now}}
WHERE id IN (
    SELECT l.id
    FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.id IN (SELECT r.value FROM json_each($1) AS r) AND l.consumer = $2 AND l.state = 'discarded' AND (l.class = 'conflict' OR NOT EXISTS (
        SELECT 1 FROM {{schema}}.headrace_dead_letters AS o
        WHERE o.scope = l.scope AND o.key = l.key AND o.class <> 'conflict'
            AND (o.state = 'open' OR o.state = 'discarded' AND o.id > l.id AND o.id IN (SELECT r.value FROM json_each($1) AS r))
    ))
)
RETURNING id, class, consumer, handler, scope, key, fingerprint
