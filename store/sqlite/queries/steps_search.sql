-- Steps whose outcome is not known or needs a person, the oldest change first.
SELECT s.scope, s.key, s.step, s.system, s.state, s.generation, s.calls, s.call_id, s.input_hash, NULL,
    COALESCE(octet_length(s.result), -1), s.external_id, s.other_id, s.via, s.error, {{now}} - s.first_call_at, {{now}} - s.last_call_at,
    s.settled_at - {{now}}, s.changed_at, s.by_whom, s.reason
FROM {{schema}}.headrace_steps AS s
WHERE s.state IN ('pending', 'parked', 'skipped', 'awaiting') AND (s.state = $1 OR $1 = '' AND s.state <> 'awaiting') AND ($2 = '' OR s.system = $2)
    AND s.changed_at <= {{now}} - $3
ORDER BY s.changed_at, s.scope, s.key, s.step
LIMIT $4
