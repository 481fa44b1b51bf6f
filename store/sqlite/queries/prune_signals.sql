-- Early signals whose time is over, and whose message has not come.
DELETE FROM {{schema}}.headrace_steps AS s
WHERE (s.scope, s.key, s.step) IN (
    SELECT o.scope, o.key, o.step FROM {{schema}}.headrace_steps AS o
    WHERE o.system = '' AND o.settled_at <= (SELECT {{now}})
        AND NOT EXISTS (SELECT 1 FROM {{schema}}.headrace_inbox AS i WHERE i.scope = o.scope AND i.key = o.key)
    LIMIT $1
)
