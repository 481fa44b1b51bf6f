-- The steps of a message, without the longest results.
SELECT s.scope, s.key, s.step, s.system, s.state, s.generation, s.calls, s.call_id, s.input_hash, CASE WHEN octet_length(s.result) <= 65536 THEN s.result END,
    COALESCE(octet_length(s.result), -1), s.external_id, s.other_id, s.via, s.error, {{now}} - s.first_call_at, {{now}} - s.last_call_at,
    s.settled_at - {{now}}, s.changed_at, s.by_whom, s.reason
FROM {{schema}}.headrace_steps AS s
WHERE s.scope = $1 AND s.key = $2
ORDER BY s.first_call_at, s.step
