-- Whether time alone may change the state of a group.
SELECT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_groups AS g
    WHERE g.state IN ('new', 'regressed') AND g.state_at <= (SELECT {{now}}) - 24 * 3600000000
        OR g.state = 'escalating' OR g.open = 0 AND g.state <> 'resolved'
)
