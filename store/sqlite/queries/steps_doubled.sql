-- Steps that were carried out twice, the oldest change first. There are few.
SELECT s.scope, s.key, s.step, s.system, s.state, s.generation, s.calls, s.call_id, s.input_hash, NULL,
    COALESCE(octet_length(s.result), -1), s.external_id, s.other_id, s.via, s.error, {{now}} - s.first_call_at, {{now}} - s.last_call_at,
    s.settled_at - {{now}}, s.changed_at, s.by_whom, s.reason
FROM {{schema}}.headrace_steps AS s
WHERE s.other_id <> '' AND ($1 = '' OR s.system = $1)
ORDER BY s.changed_at, s.scope, s.key, s.step
LIMIT $2
