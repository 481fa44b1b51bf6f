-- Steps whose outcome is not known or needs a person, the oldest change first. It takes the
-- first of each state: skipped ones stay until their message is pruned.
WITH first (changed_at, scope, key, step) AS (
    SELECT * FROM (
        SELECT o.changed_at, o.scope, o.key, o.step FROM {{schema}}.headrace_steps AS o
        WHERE o.state = 'pending' AND o.state IN ('pending', 'parked', 'skipped', 'awaiting') AND $1 IN ('', o.state) AND ($2 = '' OR o.system = $2) AND o.changed_at <= {{now}} - $3
        ORDER BY o.changed_at, o.scope, o.key, o.step
        LIMIT $4
    )
    UNION ALL
    SELECT * FROM (
        SELECT o.changed_at, o.scope, o.key, o.step FROM {{schema}}.headrace_steps AS o
        WHERE o.state = 'parked' AND o.state IN ('pending', 'parked', 'skipped', 'awaiting') AND $1 IN ('', o.state) AND ($2 = '' OR o.system = $2) AND o.changed_at <= {{now}} - $3
        ORDER BY o.changed_at, o.scope, o.key, o.step
        LIMIT $4
    )
    UNION ALL
    SELECT * FROM (
        SELECT o.changed_at, o.scope, o.key, o.step FROM {{schema}}.headrace_steps AS o
        WHERE o.state = 'skipped' AND o.state IN ('pending', 'parked', 'skipped', 'awaiting') AND $1 IN ('', o.state) AND ($2 = '' OR o.system = $2) AND o.changed_at <= {{now}} - $3
        ORDER BY o.changed_at, o.scope, o.key, o.step
        LIMIT $4
    )
    UNION ALL
    SELECT * FROM (
        SELECT o.changed_at, o.scope, o.key, o.step FROM {{schema}}.headrace_steps AS o
        WHERE o.state = 'awaiting' AND o.state IN ('pending', 'parked', 'skipped', 'awaiting') AND $1 = o.state AND ($2 = '' OR o.system = $2) AND o.changed_at <= {{now}} - $3
        ORDER BY o.changed_at, o.scope, o.key, o.step
        LIMIT $4
    )
)
SELECT s.scope, s.key, s.step, s.system, s.state, s.generation, s.calls, s.call_id, s.input_hash, NULL,
    COALESCE(octet_length(s.result), -1), s.external_id, s.other_id, s.via, s.error, {{now}} - s.first_call_at, {{now}} - s.last_call_at,
    s.settled_at - {{now}}, s.changed_at, s.by_whom, s.reason
FROM first AS f
CROSS JOIN {{schema}}.headrace_steps AS s ON s.scope = f.scope AND s.key = f.key AND s.step = f.step
ORDER BY f.changed_at, f.scope, f.key, f.step
LIMIT $4
