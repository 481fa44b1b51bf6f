-- Steps whose outcome is not known or needs a person, the oldest change first. It takes the
-- first of each state.
SELECT s.scope, s.key, s.step, s.system, s.state, s.generation, s.calls, s.call_id, s.input_hash, NULL::bytea,
    COALESCE(octet_length(s.result), -1), s.external_id, s.other_id, s.via, s.error, (extract(epoch FROM {{now}} - s.first_call_at) * 1000000)::bigint,
    (extract(epoch FROM {{now}} - s.last_call_at) * 1000000)::bigint, (extract(epoch FROM s.settled_at - {{now}}) * 1000000)::bigint, s.changed_at, s.by_whom, s.reason
FROM (VALUES ('pending'), ('parked'), ('skipped'), ('awaiting')) AS of (state)
CROSS JOIN LATERAL (
    SELECT * FROM {{schema}}.headrace_steps AS o
    WHERE o.state = of.state AND o.state IN ('pending', 'parked', 'skipped', 'awaiting') AND ($2::text = '' OR o.system = $2::text)
        AND o.changed_at <= (SELECT {{now}}) - $3::bigint * interval '1 microsecond'
    ORDER BY o.changed_at, o.scope, o.key, o.step
    LIMIT $4
) AS s
WHERE of.state = $1::text OR $1::text = '' AND of.state <> 'awaiting'
ORDER BY s.changed_at, s.scope, s.key, s.step
LIMIT $4
