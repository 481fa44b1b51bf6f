-- Groups without an open letter, also those of which no letter is left.
UPDATE {{schema}}.headrace_groups AS g
SET open = 0
WHERE g.open <> 0 AND NOT EXISTS (
    SELECT FROM {{schema}}.headrace_dead_letters AS l
    WHERE l.state = 'open' AND l.class <> 'cancelled' AND l.consumer = g.consumer AND l.handler = g.handler AND l.error_fingerprint = g.error_fingerprint
)
