-- The steps that made this in a system, with the call that counts or with another one.
SELECT s.scope, s.key, s.step, s.system, s.state, s.generation, s.calls, s.call_id, s.input_hash, NULL::bytea,
    COALESCE(octet_length(s.result), -1), s.external_id, s.other_id, s.via, s.error, (extract(epoch FROM {{now}} - s.first_call_at) * 1000000)::bigint,
    (extract(epoch FROM {{now}} - s.last_call_at) * 1000000)::bigint, (extract(epoch FROM s.settled_at - {{now}}) * 1000000)::bigint, s.changed_at, s.by_whom, s.reason
FROM {{schema}}.headrace_steps AS s
WHERE s.system = $1 AND (s.external_id = $2 AND s.external_id <> '' OR s.other_id = $2 AND s.other_id <> '')
ORDER BY s.changed_at, s.scope, s.key, s.step
LIMIT $3
